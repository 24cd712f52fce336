// The VLANs that the user of the host has requested of the remote NIC (`splitnic vlan`), and which
// of them the I/O unit has. They outlive connections: a unit that has restarted, and another unit,
// get them again, also where the one before has refused them. Plain state.
// docs/nic_service.md#vlans Thread: its owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "host_module/user_setting.h"

namespace splitnic::host {

class VlanSync {
 public:
  // The I/O unit has added or removed the id.
  void on_added(std::uint16_t id) { ids_[id].set(true, true); }
  void on_removed(std::uint16_t id) { ids_.erase(id); }
  // The I/O unit does not permit the id on this connection. Returns true if that is news.
  bool on_refused(std::uint16_t id) { return ids_[id].refuse(); }
  // The user lists the id, or does not any more. `is_done`: the I/O unit has replied OK; otherwise
  // it is requested when there is a connection.
  void set(std::uint16_t id, bool is_listed, bool is_done) {
    if (!is_listed && is_done) return on_removed(id);
    ids_[id].set(is_listed, is_done);
  }
  // The access VLAN, 0: none. A user who has set none has the one that the I/O unit gives.
  UserSetting<std::uint16_t>& pvid() { return pvid_; }
  const UserSetting<std::uint16_t>& pvid() const { return pvid_; }

  // A connection begins, or the NIC was reset: the I/O unit may have anything.
  void begin() {
    for (auto& [id, is_listed] : ids_) is_listed.begin();
    pvid_.begin();
  }
  // The I/O unit has all of it.
  void acknowledge_all() {
    std::erase_if(ids_, [](const auto& entry) { return !entry.second.requested(); });
    for (auto& [id, is_listed] : ids_) is_listed.acknowledge();
    pvid_.acknowledge();
  }

  // Returns whether the user lists the id.
  bool is_requested(std::uint16_t id) const {
    const auto at = ids_.find(id);
    return at != ids_.end() && at->second.requested();
  }
  // Returns an id to add or to remove next.
  std::optional<std::uint16_t> to_add() const { return first_due(true); }
  std::optional<std::uint16_t> to_remove() const { return first_due(false); }

  // Those that the I/O unit has, or is to have.
  std::vector<std::uint16_t> list() const {
    return those([](const Listed& is_listed) { return is_listed.value(); });
  }
  std::vector<std::uint16_t> refused() const {
    return those([](const Listed& is_listed) { return is_listed.is_refused(); });
  }

 private:
  using Listed = UserSetting<bool>;  // false: to be removed

  template <class Condition>
  std::vector<std::uint16_t> those(const Condition& condition) const {
    std::vector<std::uint16_t> all;
    for (const auto& [id, is_listed] : ids_) {
      if (condition(is_listed)) all.push_back(id);
    }
    return all;
  }
  std::optional<std::uint16_t> first_due(bool listed) const {
    for (const auto& [id, is_listed] : ids_) {
      if (is_listed.requested() == listed && is_listed.is_due()) return id;
    }
    return std::nullopt;
  }

  std::map<std::uint16_t, Listed> ids_;
  UserSetting<std::uint16_t> pvid_;
};

}  // namespace splitnic::host
