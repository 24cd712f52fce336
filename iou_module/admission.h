// Admission of hosts at one queue of the I/O unit: the hosts that may attach, their rights, and
// changes of both while the unit runs. A reload hands each queue another list of known hosts,
// between two iterations:
//   - a host that is gone is disconnected at once, and its session keys are erased at the end of
//     the next iteration, when the reason has left;
//   - a host that is new may attach a few iterations later, because each key takes a computation;
//   - a host with other rights has them at once.
// Thread: the data thread; before it starts, the main thread. docs/hosts_file.md#reload
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "control/daemon/keyed_carriers.h"
#include "control/report/known_peers.h"
#include "fabric_emul/underlay/shm_underlay.h"
#include "iou_module/iou.h"
#include "iou_module/policy/admission_rule.h"
#include "iou_module/policy/known_hosts.h"
#include "iou_module/policy/rights_source.h"

namespace splitnic::iou {

class Admission final : public AdmissionRule, public RightsSource {
 public:
  // The host at this link is attached and has other rights.
  using OnRights = std::function<void(const fabric::Link& link, const HostRights& rights)>;

  // `keyed` and `clock` outlive this.
  Admission(control::KeyedCarriers& keyed, base::Clock& clock,
            std::shared_ptr<const KnownHosts> known, OnRights on_rights);

  // -- before it serves --
  void set_known(std::shared_ptr<const KnownHosts> known) { known_ = std::move(known); }
  const KnownHosts& known() const { return *known_; }
  // A carrier over which the users of the list may attach; it outlives this.
  void add(fabric::ShmUnderlay& carrier) { shm_.push_back(&carrier); }
  // A port that is attached to a keyed switch: it knows hosts by their LIDs, and the LIDs of the
  // queues of a host by the one that it has as a node. Outlives this.
  using NodeOf = std::uint16_t (*)(std::uint16_t lid);
  void add_vouched(fabric::Port& port, NodeOf node_of) { vouched_.push_back({&port, node_of}); }
  // Allows the keys that `keyed` does not have from the options. REQUIRES that all carriers are
  // added. An error: one of them is no key of a peer.
  base::Status allow_all(const std::vector<fabric::session::PublicKey>& of_options);
  void attach(Iou& unit) { unit_ = &unit; }

  // -- while it serves --
  // REQUIRES attach().
  void replace(std::shared_ptr<const KnownHosts> known, base::Time now);
  // Ends an iteration: what is left of a change is done. Returns true if there was something.
  bool step(base::Time now);

  // By the name in the list, or that of a host that is not in it, or the key. An error: no such
  // host is attached.
  base::Status evict(const std::string& name, base::Time now);
  control::KnownPeers peers() const;
  // Since keys were agreed with the host at this link; nothing if it has none.
  std::optional<base::Duration> keys_age(const fabric::Link& link) const {
    const KnownHost* const host = known_of(link);
    return host == nullptr ? std::nullopt : keys_age(*host);
  }

  // AdmissionRule: refused if it is not known, or another process is attached as this host.
  base::Status check_admission(const fabric::Link& link) const override;
  // RightsSource
  HostId id_of(const fabric::Link& link) const override;
  HostRights rights_of(const fabric::Link& link) const override;
  bool is_of_another(const lan::MacAddress& mac, const fabric::Link& link) const override;
  bool names(const std::string& name) const override { return known_->names(name); }

 private:
  static constexpr std::size_t kKeysPerIteration = 8;

  std::optional<NodeLid> vouched_lid_of(const fabric::Link& link) const;
  std::optional<Credential> credential_of(const fabric::Link& link) const;
  // Null: it is not known.
  const KnownHost* known_of(const fabric::Link& link) const;
  // REQUIRES attach().
  std::string name_of(const fabric::session::PublicKey& key) const;
  bool may_be_at(const fabric::session::PublicKey& key, const fabric::PeerAddress& at) const;
  bool is_where_it_may_be(const KnownHost& host) const;
  void disconnect(const std::vector<const KnownHost*>& hosts, const std::string& why,
                  base::Time now);
  void report_rights(const std::vector<const KnownHost*>& hosts);
  void allow_some();
  std::optional<base::Duration> keys_age(const KnownHost& host) const;
  control::KnownPeer row_of(const KnownHost& host, const AttachedHost* attached) const;

  control::KeyedCarriers& keyed_;
  base::Clock& clock_;
  std::shared_ptr<const KnownHosts> known_;
  const OnRights on_rights_;
  std::vector<fabric::ShmUnderlay*> shm_;
  struct Vouched {
    fabric::Port* port;
    NodeOf node_of;
  };
  std::vector<Vouched> vouched_;
  Iou* unit_ = nullptr;
  // For the end of an iteration that is not earlier: by then the hosts have been notified.
  base::Time not_before_{};
  std::vector<fabric::session::PublicKey> to_end_, to_disallow_;
  bool are_users_changed_ = false;
  std::deque<fabric::session::PublicKey> to_allow_;
};

}  // namespace splitnic::iou
