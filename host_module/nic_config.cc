#include "host_module/nic_config.h"

#include <algorithm>

#include "base/event.h"
#include "base/log.h"
#include "base/parse_message.h"
#include "control/config/values.h"
#include "control/config/version.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/cfgutil/echo.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;

}  // namespace

NicConfig::NicConfig(lan::FramePort& tap, Settings settings)
    : tap_(tap),
      interface_(tap, sync_, {settings.mtu, settings.is_additional, settings.keeps_carrier}),
      is_additional_(settings.is_additional),
      lists_(std::move(settings.lists)) {
  sync_.offloads = offloads_set_ = tap_.offloads();
  sync_.node_name = std::move(settings.node_name);
  sync_.takes_lan_mac = settings.takes_lan_mac;
  if (lists_) sync_.lists_at = base::Time{};
}

void NicConfig::on_pair_up(messaging::ChannelPair& pair, base::Time now) {
  pair_ = &pair;
  ++epoch_;
  slot_ = Slot::kFree;
  generation_ = 0;
  busy_until_ = {};
  sync_.begin();
  interface_.read();
  pump(now);
}

void NicConfig::on_pair_down(base::Time now) {
  on_move();
  interface_.end_waiting(now);
}

void NicConfig::on_unit_stopped(base::Time now) {
  if (!interface_.has_carrier()) return on_pair_down(now);
  on_move();
  interface_.wait_for_return(now);
}

void NicConfig::on_move() {
  settling_.end({}, [](CfgCode, const lan::PortState&) {
    return "the connection to the I/O unit ended before it had replied";
  });
  pair_ = nullptr;
  ++epoch_;
  slot_ = Slot::kFree;
  is_announce_due_ = false;
  sync_.phase = SyncPhase::kDisconnected;
  sync_.lan_link = false;
  interface_.on_move();
}

void NicConfig::on_tap_state(base::Time now) {
  const bool was_up = sync_.wanted.admin_up;
  interface_.read();
  if (sync_.wanted.admin_up && !was_up) interface_.apply_carrier();
  pump(now);
}

void NicConfig::set_wanted_mtu(std::optional<std::uint32_t> mtu, base::Time now) {
  interface_.set_wanted_mtu(mtu);
  if (!mtu) pump(now);
}

void NicConfig::pump(base::Time now) {
  interface_.begin_iteration(now);
  if (pair_ == nullptr || !pair_->up()) return;
  interface_.follow(now);
  if (now >= sync_.lists_at) read_lists(now);
  if (slot_ == Slot::kOpen || now < busy_until_) return;
  busy_until_ = {};
  if (const SyncStep* step = next_step(sync_, now); step != nullptr) return send(*step, now);
  if (sync_.phase != SyncPhase::kSync) return;
  sync_.phase = SyncPhase::kConfigured;
  interface_.set_due();
  interface_.follow(now);
}

void NicConfig::send(const SyncStep& step, base::Time now) {
  sync_.on_send(now);
  const auto sent = pair_->request(step.code, step.encode(sync_),
                                   [this, &step, epoch = epoch_](const CfgReply& reply) {
                                     if (epoch == epoch_) on_reply(step, reply);
                                   });
  slot_ = sent.has_value() ? Slot::kOpen : Slot::kRefused;
  open_ = step.code;
}

// Without a reply nothing is known, not even that the request was not carried out: it stays due.
void NicConfig::on_reply(const SyncStep& step, const CfgReply& reply) {
  slot_ = Slot::kFree;
  base::log_debug(tap_.name() + ": " + std::string(name(step.code)) + ": " +
                  std::string(reply.replied ? name(reply.status) : "no reply"));
  if (!reply.replied) {
    return settling_.end(
        step.code, [](CfgCode, const lan::PortState&) { return "the I/O unit has not replied"; });
  }
  if (reply.status == CfgStatus::kBusy) {
    busy_until_ = sync_.sent_at + kBusyFor;
    return;
  }
  const SyncEffect effect = step.on_reply(sync_, reply);
  if (effect.warning && !is_additional_) {
    base::log_warn({base::EventKind::kRefused, tap_.name()}, *effect.warning);
  }
  if (effect.lan_mac) {
    const auto done = tap_.set_mac(*effect.lan_mac);
    if (done)
      sync_.wanted.mac = *effect.lan_mac;
    else
      base::log_warn(done.error().text());
    interface_.read();
  }
  settle(step);
  if (effect.are_features_known) limit_to_granted();
  if (effect.is_lan_mtu_known) interface_.on_lan_mtu_known();
}

void NicConfig::when_settled(CfgCode code, base::Time now, Settling::Done done) {
  if (!configured()) return done(std::nullopt);
  sync_.request_again(code);
  pump(now);
  const auto steps = sync_steps();
  const auto step = std::ranges::find(steps, code, &SyncStep::code);
  const bool is_open = slot_ == Slot::kOpen && open_ == code;
  if (!is_open && (step == steps.end() || !step->is_due(sync_, now))) {
    return done(sync_.refusal_of(code, sync_.wanted));
  }
  settling_.add(code, sync_.wanted, std::move(done));
}

// A reply to a request that was open before the value changed settles nothing: the step is due.
void NicConfig::settle(const SyncStep& step) {
  if (step.is_due(sync_, sync_.sent_at)) return;
  settling_.end(step.code, [this](CfgCode code, const lan::PortState& asked) {
    return sync_.refusal_of(code, asked);
  });
}

void NicConfig::read_lists(base::Time now) {
  sync_.lists_at = now + kListsInterval;
  auto listed = lists_();
  if (!listed) return;  // what was read last stays in force
  sync_.listed = *std::move(listed);
  sync_.end_refusals();
}

void NicConfig::on_filter(const UserFilter& filter, bool is_done) {
  sync_.user.filter = filter;
  sync_.is_unicast_refused = sync_.is_unicast_refusal_known = false;
  if (is_done) sync_.acknowledged.filter = sync_.filter_permitted(filter);
}

// Whoever sends super-frames that the other end does not take, or not any more, loses them.
base::Status NicConfig::limit_offloads(std::uint32_t off) {
  const std::uint32_t mask = offloads_without(off);
  auto done = tap_.set_offloads(mask);
  if (done) offloads_set_ = mask;
  return done;
}

// An interface that has these already is left as it is: its user may have turned some off there
// (ethtool -K), and setting them turns them on.
void NicConfig::limit_to_granted() {
  if (offloads_without(sync_.user.offloads_off) == offloads_set_) return;
  if (const auto done = limit_offloads(sync_.user.offloads_off); !done) {
    base::log_warn(done.error().text());
  }
}

base::Status NicConfig::set_offloads_off(std::uint32_t off, bool is_done) {
  sync_.user.offloads_off = off;
  if (is_done) sync_.acknowledged.offloads = sync_.offloads_wanted();
  return limit_offloads(off);
}

base::Time NicConfig::deadline() const {
  if (pair_ == nullptr || !pair_->up()) return interface_.wait_deadline();
  const base::Time follow_at =
      std::min({interface_.follow_deadline(), sync_.lists_at, interface_.wait_deadline()});
  if (slot_ != Slot::kFree) return follow_at;
  if (busy_until_ != base::Time{}) return std::min(follow_at, busy_until_);
  return std::min(follow_at, sync_.deadline());
}

CfgReply NicConfig::on_event(const messaging::CfgRequest& request, base::Time now) {
  cfg::EventRequest event;
  if (!base::parse_message(request.data, event)) return {CfgStatus::kBadValue, {}};
  if (event.generation() <= generation_) return {};  // an older one, repeated
  generation_ = event.generation();
  sync_.lan_link = event.link().up();
  sync_.lan_speed_mbps = event.link().speed_mbps();
  sync_.is_lan_full_duplex = event.link().full_duplex();
  if (event.mtu() != 0) interface_.on_lan_mtu(event.mtu());
  interface_.set_due();
  interface_.follow(now);
  return {};
}

CfgReply NicConfig::on_request(const messaging::CfgRequest& request, base::Time now) {
  switch (request.code) {
    case CfgCode::kEcho:
      return messaging::reply_to_echo(request.data);
    case CfgCode::kEvent:
      return on_event(request, now);
    case CfgCode::kAnnounce:
      is_announce_due_ = true;
      return {};
    case CfgCode::kGetVersion: {
      cfg::GetVersionReply reply;
      reply.set_version(messaging::kMessageVersion);
      reply.set_version_highest(messaging::kMessageVersion);
      reply.set_program(control::version_text("splitnic-host"));
      return {CfgStatus::kOk, reply.SerializeAsString()};
    }
    default:
      return {CfgStatus::kUnknown, {}};
  }
}

}  // namespace splitnic::host
