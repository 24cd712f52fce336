#include "iou_module/admission.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "control/config/ip_address.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/underlay/udp_address.h"
#include "iou_module/hosts/host_label.h"

namespace splitnic::iou {
namespace {

using fabric::session::bytes_of_base64;
using fabric::session::PublicKey;

const char* state_of(const AttachedHost& host) {
  if (!host.connection().up()) return "connecting";
  return host.link().up() ? "up" : "down";
}

void add_host(control::KnownPeer& row, const AttachedHost& host) {
  row.state = state_of(host);
  row.address = host.link().peer_name();
  row.rx_bytes = host.stats().counters[AttachedHostCounter::kFromHostBytes];
  row.tx_bytes = host.stats().counters[AttachedHostCounter::kToHostBytes];
  row.queues = host.is_reachable() ? 1 : 0;
  row.memory_bytes = host.allowance().memory_account().used();
}

}  // namespace

Admission::Admission(control::KeyedCarriers& keyed, base::Clock& clock,
                     std::shared_ptr<const KnownHosts> known, OnRights on_rights)
    : keyed_(keyed), clock_(clock), known_(std::move(known)), on_rights_(std::move(on_rights)) {
  keyed_.set_may_be_at(
      [this](const PublicKey& key, const fabric::PeerAddress& at) { return may_be_at(key, at); });
  keyed_.set_on_second([this](const void* who, const PublicKey& key, const std::string& at,
                              const std::string& from) {
    if (unit_ != nullptr) unit_->on_second_process(who, name_of(key), at, from);
  });
}

base::Status Admission::allow_all(const std::vector<PublicKey>& of_options) {
  for (const KnownHost& host : known_->all()) {
    const PublicKey* key = host.key();
    if (key == nullptr || std::ranges::find(of_options, *key) != of_options.end()) continue;
    if (auto allowed = keyed_.allow(*key); !allowed) return allowed;
  }
  return {};
}

void Admission::replace(std::shared_ptr<const KnownHosts> known, base::Time now) {
  CHECK(unit_ != nullptr);
  not_before_ = now;
  const std::shared_ptr<const KnownHosts> before = std::exchange(known_, std::move(known));
  const HostChanges changes = changes_between(*before, *known_);
  // The unit still finds a host that is gone by what it was.
  disconnect(changes.removed,
             known_->admits_others() ? "--allow-key has its key no more"
                                     : "it is not in the hosts file any more",
             now);
  for (const KnownHost* host : changes.removed) {
    if (host->key() != nullptr) to_disallow_.push_back(*host->key());
  }
  for (const KnownHost* host : changes.added) {
    if (host->key() != nullptr) to_allow_.push_back(*host->key());
  }
  std::vector<const KnownHost*> strayed;
  for (const KnownHost* host : changes.changed) {
    if (is_where_it_may_be(*host)) continue;
    strayed.push_back(host);
    to_end_.push_back(*host->key());
  }
  disconnect(strayed, "the hosts file does not have its address any more", now);
  report_rights(changes.changed);
  unit_->update_rights(now);  // of all: an address may be listed for another host now
  are_users_changed_ = are_users_changed_ || before->users() != known_->users();
}

bool Admission::step(base::Time now) {
  const bool has_work =
      !to_end_.empty() || !to_disallow_.empty() || !to_allow_.empty() || are_users_changed_;
  if (!has_work) return false;
  if (now < not_before_) return true;
  for (const PublicKey& key : std::exchange(to_end_, {})) keyed_.end_session(key);
  for (const PublicKey& key : std::exchange(to_disallow_, {})) keyed_.disallow(key);
  if (std::exchange(are_users_changed_, false)) {
    for (fabric::ShmUnderlay* carrier : shm_) carrier->set_users(known_->users().value());
  }
  allow_some();
  return true;
}

// Another reload may have removed a key meanwhile.
void Admission::allow_some() {
  for (std::size_t i = 0; i < kKeysPerIteration && !to_allow_.empty(); ++i) {
    const PublicKey key = to_allow_.front();
    to_allow_.pop_front();
    if (known_->find(key) == nullptr) continue;
    if (auto allowed = keyed_.allow(key); !allowed) base::log_warn(allowed.error().text());
  }
}

void Admission::disconnect(const std::vector<const KnownHost*>& hosts, const std::string& why,
                           base::Time now) {
  if (hosts.empty()) return;
  std::set<Credential> ended;
  for (const KnownHost* host : hosts) ended.insert(host->who);
  unit_->disconnect(
      [&](const AttachedHost& host) {
        const auto who = credential_of(host.link());
        return who && ended.contains(*who);
      },
      why, now);
}

void Admission::report_rights(const std::vector<const KnownHost*>& hosts) {
  if (hosts.empty()) return;
  const std::set<const KnownHost*> changed(hosts.begin(), hosts.end());
  for (const AttachedHost* host : unit_->hosts()) {
    const KnownHost* known = known_of(host->link());
    if (!host->has_ended() && changed.contains(known)) on_rights_(host->link(), known->rights);
  }
}

base::Status Admission::evict(const std::string& name, base::Time now) {
  not_before_ = now;
  const auto is_meant = [&](const AttachedHost& host) {
    const KnownHost* known = known_of(host.link());
    if (known != nullptr && !known->rights.name.empty()) return known->rights.name == name;
    return label_of(host, unit_->hosts()) == name || host.link().peer_key() == name ||
           name_with_node(host.identity().stated_name(), host.identity().node()) == name;
  };
  const auto evict_and_end = [&](const AttachedHost& host) {
    if (!is_meant(host)) return false;
    if (const auto key = bytes_of_base64(host.link().peer_key())) {
      to_end_.push_back(PublicKey{*key});
    }
    return true;
  };
  if (unit_ != nullptr && unit_->disconnect(evict_and_end, "it was evicted", now) > 0) return {};
  return base::Error("no host '" + name + "' is attached: splitnic peers lists them");
}

control::KnownPeers Admission::peers() const {
  std::map<const KnownHost*, const AttachedHost*> attached;
  control::KnownPeers rows;
  for (const KnownHost& host : known_->all()) attached.emplace(&host, nullptr);
  control::KnownPeers others;
  for (const AttachedHost* host :
       unit_ == nullptr ? std::vector<AttachedHost*>() : unit_->hosts()) {
    if (host->has_ended()) continue;
    if (const KnownHost* known = known_of(host->link()); known != nullptr) {
      attached[known] = host;
      continue;
    }
    control::KnownPeer row;
    row.name = label_of(*host, unit_->hosts());
    row.user = host->link().peer_user();
    if (host->link().peer_key().empty()) row.node = name_with_node("", host->identity().node());
    row.rights = "default";
    add_host(row, *host);
    others.push_back(std::move(row));
  }
  for (const KnownHost& host : known_->all()) rows.push_back(row_of(host, attached.at(&host)));
  std::ranges::move(others, std::back_inserter(rows));
  return rows;
}

std::optional<base::Duration> Admission::keys_age(const KnownHost& host) const {
  if (host.key() == nullptr) return std::nullopt;
  const auto view = keyed_.view_of(*host.key());
  if (!view || !view->agreed_at) return std::nullopt;
  return clock_.now() - *view->agreed_at;
}

control::KnownPeer Admission::row_of(const KnownHost& host, const AttachedHost* attached) const {
  control::KnownPeer row;
  row.name = host.rights.name;
  row.key = host.key_text();
  row.user = host.user();
  row.rights = host.rights_text;
  if (const auto age = keys_age(host)) {
    row.handshake_seconds =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(*age).count());
  }
  if (attached == nullptr) return row;
  if (row.name.empty()) row.name = label_of(*attached, unit_->hosts());
  add_host(row, *attached);
  return row;
}

// The LIDs of other ports mean nothing: they are given by link.
std::optional<NodeLid> Admission::vouched_lid_of(const fabric::Link& link) const {
  const auto at = std::ranges::find_if(
      vouched_, [&](const Vouched& one) { return one.port->by_lid(link.remote_lid()) == &link; });
  if (at == vouched_.end()) return std::nullopt;
  return NodeLid{at->node_of(link.remote_lid().value)};
}

std::optional<Credential> Admission::credential_of(const fabric::Link& link) const {
  if (const auto lid = vouched_lid_of(link)) return *lid;
  if (const auto key = bytes_of_base64(link.peer_key())) return PublicKey{*key};
  if (const auto user = link.peer_user()) return UserId{*user};
  return std::nullopt;
}

HostId Admission::id_of(const fabric::Link& link) const {
  HostId id = host_id_of(link);
  if (const auto lid = vouched_lid_of(link)) {
    id.proof = HostId::Proof::kNode;
    id.number = lid->value;
  }
  return id;
}

const KnownHost* Admission::known_of(const fabric::Link& link) const {
  const auto who = credential_of(link);
  return who ? known_->find(*who) : nullptr;
}

// In the list, else as it states, else the key.
std::string Admission::name_of(const PublicKey& key) const {
  const std::string text = fabric::session::base64_of(key.bytes);
  if (const KnownHost* host = known_->find(key); host != nullptr && !host->rights.name.empty()) {
    return host->rights.name;
  }
  for (const AttachedHost* host : unit_->hosts()) {
    if (host->link().peer_key() == text) return host->identity().name();
  }
  return "the host with the key " + text;
}

bool Admission::may_be_at(const PublicKey& key, const fabric::PeerAddress& at) const {
  const KnownHost* host = known_->find(key);
  if (host == nullptr || host->rights.from.empty()) return true;
  const auto ip = control::ip_of(*fabric::UdpAddress(at).get());
  return ip && std::ranges::any_of(host->rights.from,
                                   [&](const control::Cidr& block) { return block.contains(*ip); });
}

bool Admission::is_where_it_may_be(const KnownHost& host) const {
  if (host.key() == nullptr) return true;
  return std::ranges::all_of(keyed_.endpoints_of(*host.key()), [&](const fabric::PeerAddress& at) {
    return may_be_at(*host.key(), at);
  });
}

base::Status Admission::check_admission(const fabric::Link& link) const {
  const KnownHost* known = known_of(link);
  if (known == nullptr) {
    if (known_->admits_others()) return {};
    return base::Error("this host is not in the hosts file of the I/O unit");
  }
  if (known->rights.name.empty() || unit_ == nullptr) return {};
  const HostProcess process{id_of(link), link.peer_instance()};
  for (const AttachedHost* other : unit_->hosts()) {
    if (&other->link() == &link || !other->is_reachable()) continue;
    if (other->identity().process() == process) continue;  // it comes by another path
    if (known_of(other->link()) != known) continue;
    return base::Error("host " + known->rights.name + " is attached already, from " +
                       other->link().peer_name());
  }
  return {};
}

HostRights Admission::rights_of(const fabric::Link& link) const {
  const KnownHost* known = known_of(link);
  return known == nullptr ? known_->rights_of_others() : known->rights;
}

bool Admission::is_of_another(const lan::MacAddress& mac, const fabric::Link& link) const {
  const KnownHost* owner = known_->owner_of(mac);
  return owner != nullptr && owner != known_of(link);
}

}  // namespace splitnic::iou
