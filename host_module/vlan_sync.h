// The VLANs that the user of the host has requested of the remote NIC (`splitnic vlan`), and which
// of them the I/O unit is known to have. They outlive connections: a unit that has restarted gets
// them again. Plain state. docs/nic_service.md#vlans Thread: its owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace splitnic::host {

class VlanSync {
 public:
  // The I/O unit has added or removed the id on our request.
  void on_added(std::uint16_t id) { ids_[id] = {true, true}; }
  void on_removed(std::uint16_t id) { ids_.erase(id); }
  // To be requested when there is a connection.
  void add(std::uint16_t id) { ids_[id] = {true, false}; }
  void remove(std::uint16_t id) { ids_[id] = {false, false}; }
  void set_pvid(std::uint16_t id, bool is_acknowledged) {
    pvid_ = id;
    is_pvid_acknowledged_ = is_acknowledged;
  }
  // The I/O unit does not permit it.
  void forget(std::uint16_t id) { ids_.erase(id); }
  void forget_pvid() { pvid_.reset(); }

  // A connection begins, or the NIC was reset: the I/O unit may have anything.
  void begin() {
    for (auto& [id, entry] : ids_) entry.is_acknowledged = false;
    is_pvid_acknowledged_ = false;
  }
  // The I/O unit has all of it.
  void acknowledge_all() {
    std::erase_if(ids_, [](const auto& entry) { return !entry.second.is_listed; });
    for (auto& [id, entry] : ids_) entry.is_acknowledged = true;
    is_pvid_acknowledged_ = true;
  }

  // Returns an id to add or to remove next.
  std::optional<std::uint16_t> to_add() const { return first_due(true); }
  std::optional<std::uint16_t> to_remove() const { return first_due(false); }
  bool is_pvid_due() const { return pvid_.has_value() && !is_pvid_acknowledged_; }

  std::vector<std::uint16_t> list() const {
    std::vector<std::uint16_t> all;
    for (const auto& [id, entry] : ids_) {
      if (entry.is_listed) all.push_back(id);
    }
    return all;
  }
  // 0: none. A user who has set none has the one that the I/O unit gives.
  std::uint16_t pvid() const { return pvid_.value_or(0); }

 private:
  struct Entry {
    bool is_listed = true;  // false: to be removed
    bool is_acknowledged = false;
  };
  std::optional<std::uint16_t> first_due(bool is_listed) const {
    for (const auto& [id, entry] : ids_) {
      if (entry.is_listed == is_listed && !entry.is_acknowledged) return id;
    }
    return std::nullopt;
  }

  std::map<std::uint16_t, Entry> ids_;
  std::optional<std::uint16_t> pvid_;
  bool is_pvid_acknowledged_ = false;
};

}  // namespace splitnic::host
