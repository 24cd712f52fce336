#include "iou_module/iou.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"

namespace splitnic::iou {

Iou::Iou(const IouConfig& config, fabric::Adapter& adapter, std::span<lan::FramePort* const> lans,
         base::Random& random)
    : config_(config), adapter_(adapter) {
  CHECK(!lans.empty());
  for (lan::FramePort* lan : lans) {
    const LanNicConfig nic{nics_.size(), config.session, config.policy};
    nics_.push_back(std::make_unique<LanNic>(nic, adapter, *lan, random));
  }
  adapter_.connections().set_handler(*this);
}

Iou::~Iou() = default;

bool Iou::step(base::Time now) {
  now_ = now;
  bool made_progress = adapter_.receive(now);
  end_too_wide();
  for (const auto& nic : nics_) made_progress |= nic->step(now);
  adapter_.transmit(now);
  return made_progress;
}

bool Iou::step(base::Time now, bool lan_readable) {
  for (const auto& nic : nics_) nic->set_readable(lan_readable);
  return step(now);
}

base::Time Iou::deadline() const {
  base::Time at = adapter_.deadline();
  for (const auto& nic : nics_) at = std::min(at, nic->deadline());
  return at;
}

Iou::Found Iou::find(const messaging::ChannelPair& pair) const {
  for (const auto& nic : nics_) {
    if (AttachedHost* host = nic->find(pair); host != nullptr) return {nic.get(), host};
  }
  return {};
}

fabric::MgmtReject Iou::on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                           const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (messaging::queues_asked(request.private_data).queue != 0) {
    return join(id, link, request, reply);
  }
  if (const auto code = judge(link, request, reply); code != fabric::MgmtReject::kNone) return code;
  built_.push_back({&link, now_});
  end_sessions_of(link);
  return nics_[messaging::nic_asked(request.private_data)]->accept(id, link, request, reply, *this,
                                                                   now_);
}

fabric::MgmtReject Iou::judge(const fabric::Link& link, const fabric::Mgmt& request,
                              fabric::Mgmt& reply) {
  if (is_stopping_) return refuse(IouCounter::kRefusedStop, "the I/O unit stops", reply);
  if (const auto left = quarantine_.left(link.peer_eui64(), now_); left > base::Duration{0}) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    return refuse(IouCounter::kRefusedQuarantine,
                  "this host reached for memory that it was not given: it is let in again in " +
                      std::to_string(seconds) + " s",
                  reply);
  }
  const std::uint32_t wanted = messaging::nic_asked(request.private_data);
  if (wanted >= nics_.size()) {
    const std::size_t count = nics_.size();
    return refuse(IouCounter::kRefusedNic,
                  "there is no NIC " + std::to_string(wanted) + ": the I/O unit has " +
                      (count == 1 ? "one NIC, --nic 0"
                                  : std::to_string(count) + " NICs, --nic 0 to --nic " +
                                        std::to_string(count - 1)),
                  reply);
  }
  const auto agreed = messaging::agree(request.private_data, config_.session.pair,
                                       messaging::ConnectRole::kPassive);
  if (!agreed) return refuse(IouCounter::kRefusedCapabilities, agreed.error().text(), reply);
  const auto sessions = this->sessions();
  const auto others =
      std::ranges::count_if(sessions, [&](auto* s) { return !s->failed && &s->link() != &link; });
  if (static_cast<std::size_t>(others) >= config_.hosts_max) {
    counters_.add(IouCounter::kRefusedFull);
    return fabric::MgmtReject::kNoResources;
  }
  if (is_too_often(link)) {
    counters_.add(IouCounter::kRefusedOften);
    return fabric::MgmtReject::kNoResources;
  }
  return fabric::MgmtReject::kNone;
}

fabric::MgmtReject Iou::join(fabric::ConnectionId id, fabric::Link& link,
                             const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (is_stopping_) return refuse(IouCounter::kRefusedStop, "the I/O unit stops", reply);
  const HostIdentity asking{link.peer_eui64(), link.peer_instance()};
  for (AttachedHost* s : sessions()) {
    if (&s->link() == &link && !s->failed && s->identity() == asking) {
      return s->pair().accept(id, link, request, reply, now_);
    }
  }
  return refuse(IouCounter::kRefusedCapabilities, "its first queue is not connected", reply);
}

bool Iou::is_too_often(const fabric::Link& link) {
  std::erase_if(built_, [&](const Built& b) { return now_ - b.at >= kSessionEvery; });
  return built_.size() >= kHostsMax ||
         std::ranges::any_of(built_, [&](const Built& b) { return b.link == &link; });
}

// Once a session: the queue pair that refused ends with it.
void Iou::note_refused_access(const AttachedHost& host) {
  if (!host.pair().has_refused_access()) return;
  if (!quarantine_.note(host.link().peer_eui64(), now_)) return;
  counters_.add(IouCounter::kQuarantined);
  base::log_warn("host " + host.pair().peer_name() +
                 " reached again and again for memory that it was not given: it is kept out");
}

// A host has one connection: a new one ends the one before.
void Iou::end_sessions_of(const fabric::Link& link) {
  for (const auto& nic : nics_) {
    for (const auto& s : nic->sessions()) {
      if (&s->link() != &link || s->failed) continue;
      note_refused_access(*s);
      nic->end(*s, now_);
      nic->close(*s, now_);
    }
  }
}

fabric::MgmtReject Iou::refuse(IouCounter counter, std::string why, fabric::Mgmt& reply) {
  counters_.add(counter);
  refusal_ = std::move(why);
  reply.private_data = base::as_bytes(refusal_);
  return fabric::MgmtReject::kRefused;
}

void Iou::on_link_down(fabric::Link& link, std::string_view why) {
  base::log_info("host " + link.peer_name() + " is silent: " + std::string(why));
}

// Cells of the old size no longer pass: the host connects again and gets smaller ones.
void Iou::on_path_narrowed(fabric::Link& link) {
  base::log_info("the path to " + link.peer_name() + " carries cells of " +
                 std::to_string(link.mcp()) + " bytes now");
  narrowed_.push_back(&link);  // queue pairs are not ended in the middle of a flush
}

// Those whose cells no longer pass. A pair that was made since has smaller ones.
void Iou::end_too_wide() {
  for (const fabric::Link* link : narrowed_) {
    const auto of_link = sessions();
    if (std::ranges::any_of(of_link, [&](AttachedHost* s) {
          return &s->link() == link && s->pair().cell_payload_max() > link->mcp();
        })) {
      end_sessions_of(*link);
    }
  }
  narrowed_.clear();
}

void Iou::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  for (const auto& nic : nics_) {
    if (AttachedHost* host = nic->find(id); host != nullptr) {
      return host->pair().on_disconnected(id, why);
    }
  }
}

void Iou::on_pair_up(messaging::ChannelPair& pair) {
  counters_.add(IouCounter::kHostsUp);
  const Found found = find(pair);
  const bool is_only_nic = nics_.size() == 1 || found.nic == nullptr;
  base::log_info("host " + pair.peer_name() + " attached" +
                 (is_only_nic ? "" : " to NIC " + std::to_string(found.nic->number())));
  if (found.host != nullptr) found.host->owes_announce = true;
}

void Iou::on_pair_down(messaging::ChannelPair& pair, const std::string& why) {
  counters_.add(IouCounter::kHostsDown);
  base::log_info("host " + pair.peer_name() + " detached: " + why);
  const Found found = find(pair);
  if (found.host == nullptr) return;
  note_refused_access(*found.host);
  found.nic->end(*found.host, now_);
}

messaging::CfgReply Iou::on_cfg_request(messaging::ChannelPair& pair,
                                        const messaging::CfgRequest& request) {
  const Found found = find(pair);
  if (found.host == nullptr) return {messaging::CfgStatus::kDeviceError, {}};
  return found.nic->serve(*found.host, request);
}

void Iou::begin_stop() {
  is_stopping_ = true;
  for (const auto& nic : nics_) nic->begin_stop();
}

bool Iou::is_drained() const {
  return std::ranges::all_of(nics_, [](const auto& nic) { return nic->is_drained(); });
}

void Iou::stop(base::Time now) {
  is_stopping_ = true;  // no new session
  for (const auto& nic : nics_) nic->close_all(now);
  adapter_.poll(now);
  for (const auto& port : adapter_.ports()) {
    port->say_bye(now);
    port->flush(now);
  }
}

void Iou::abandon(base::Time now) {
  for (const auto& nic : nics_) nic->abandon(now);
}

std::vector<AttachedHost*> Iou::sessions() const {
  std::vector<AttachedHost*> all;
  for (const auto& nic : nics_) {
    for (const auto& s : nic->sessions()) all.push_back(s.get());
  }
  return all;
}

std::size_t Iou::hosts_up() const {
  const auto all = sessions();
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [](AttachedHost* s) { return s->pair().up() && s->link().up(); }));
}

std::uint64_t Iou::bytes_processed() const {
  std::uint64_t bytes = 0;
  for (const auto& nic : nics_) bytes += nic->bytes_processed();
  return bytes;
}

void Iou::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  adapter_.visit_counters(visitor);
  for (const auto& nic : nics_) nic->visit_counters(visitor);
}

}  // namespace splitnic::iou
