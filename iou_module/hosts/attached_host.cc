#include "iou_module/hosts/attached_host.h"

#include <algorithm>

namespace splitnic::iou {
namespace {

// For the object itself, its queues and tables of fixed length.
constexpr std::uint64_t kObjectBytes = 256 << 10;

messaging::PairConfig charged_to(base::MemoryAccount& account, messaging::PairConfig config) {
  config.memory = &account;
  return config;
}

}  // namespace

AttachedHost::AttachedHost(const AttachedHostConfig& config, fabric::Adapter& adapter,
                           fabric::Link& link, base::Random& random, HostOwner& owner,
                           base::Time now)
    : owner_(owner),
      link_(link),
      partition_(config.pair.partition),
      asks_any_nic_(config.asks_any_nic),
      allowance_(config.rights, config.unit_queues, config.memory_usual, config.limits),
      life_(now),
      now_(now),
      stopped_since_(now),
      charge_(&allowance_.memory_account()),
      tx_(connection_, nic_, allowance_.vlans(), stats_, config.frames_max),
      rx_(connection_, life_, stats_),
      notifier_([this](messaging::CfgCode code, const std::string& data, messaging::CfgDone done) {
        return connection_.first().request(code, data, std::move(done));
      }),
      connection_(adapter, charged_to(allowance_.memory_account(), config.pair), random, *this),
      identity_({config.id.value_or(host_id_of(link)), link.peer_instance()}, allowance_.rights(),
                connection_.first().peer_name()),
      made_(make_ring(config)) {}

base::Status AttachedHost::make_ring(const AttachedHostConfig& config) {
  if (!charge_.add(kObjectBytes + config.ring_bytes)) return base::account_error();
  return tx_.allocate(config.ring_bytes);
}

fabric::MgmtReject AttachedHost::accept(fabric::ConnectionId id, const fabric::Mgmt& request,
                                        fabric::Mgmt& reply) {
  if (made_) {
    const auto code = connection_.accept(id, link_, request, reply, now_);
    if (code != fabric::MgmtReject::kNoResources) return code;
  }
  refusal_ = allowance_.memory_error().text();
  reply.private_data = base::as_bytes(refusal_);
  return fabric::MgmtReject::kNoResources;
}

void AttachedHost::set_rights(HostRights rights) {
  allowance_.set_rights(std::move(rights));
  news_.set_due();
}

void AttachedHost::begin_close() {
  if (life_.state() != HostState::kAttached || !connection_.up()) return;
  if (!tx_.queue().empty()) return;
  life_.begin_close();
  connection_.begin_close();
}

// A host that is away or not up yet is not waited for.
bool AttachedHost::is_drained() const {
  if (has_ended() || !link_.up()) return true;
  return !connection_.up() && connection_.is_drained() && rx_.waiting() == 0;
}

void AttachedHost::close(base::Time now) {
  if (!life_.close()) return;
  rx_.count_ended(now);
  tx_.count_ended();
  connection_.close(now);
}

base::Time AttachedHost::deadline() const {
  const base::Time at = std::min({connection_.deadline(), tx_.deadline(), life_.deadline()});
  return is_reachable() ? std::min(at, notifier_.deadline()) : at;
}

void AttachedHost::on_lan_change(const lan::PortState& lan) {
  nic_.follow_lan_mtu(lan.mtu);
  news_.set_due();
  notifier_.events().on_change();
}

void AttachedHost::notify(const lan::PortState& lan, base::Time now) {
  if (is_reachable()) notifier_.report_lan(lan, now);
  if (nic_.started && life_.state() == HostState::kAttached && connection_.up())
    notifier_.request_announce();
}

void AttachedHost::on_pair_up(messaging::ChannelPair&) {
  tx_.on_settings();
  was_up_ = true;
  owner_.on_host_up(*this);
}

void AttachedHost::on_pair_down(messaging::ChannelPair&, const std::string& why) {
  owner_.on_host_down(*this, why);
}

messaging::CfgReply AttachedHost::on_cfg_request(messaging::ChannelPair&,
                                                 const messaging::CfgRequest& request) {
  if (request.code != messaging::CfgCode::kEcho && !allowance_.take_request(now_)) {
    stats_.count(AttachedHostCounter::kBusy);
    return {messaging::CfgStatus::kBusy, {}};
  }
  return owner_.on_cfg_request(*this, request);
}

}  // namespace splitnic::iou
