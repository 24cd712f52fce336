#include "host_module/nic_config.h"

#include <algorithm>
#include <iterator>

#include "base/event.h"
#include "base/log.h"
#include "control/parse_outcome.h"
#include "control/values.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/cfgutil/echo.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;

constexpr std::uint32_t kMtuOfNewInterface = 1500;
constexpr std::uint32_t kIp6MtuMin = 1280;  // RFC 8200, section 5

template <class Message>
bool parse(const messaging::CfgRequest& request, Message& out) {
  return out.ParseFromArray(request.data.data(), static_cast<int>(request.data.size()));
}

}  // namespace

// An interface that was there before us may carry an MTU that its user chose.
NicConfig::NicConfig(lan::FramePort& tap, Settings settings)
    : tap_(tap),
      is_additional_(settings.is_additional),
      lists_(std::move(settings.lists)),
      keeps_carrier_(settings.keeps_carrier),
      lists_at_(lists_ ? base::Time{} : base::kNever),
      wanted_mtu_(settings.mtu) {
  sync_.offloads = tap_.offloads();
  sync_.node_name = std::move(settings.node_name);
  sync_.takes_lan_mac = settings.takes_lan_mac;
  sync_.wanted = tap_.state();
  has_carrier_ = is_found_with_carrier_ = is_moving_ = keeps_carrier_ && sync_.wanted.link_up;
  if (!wanted_mtu_ && sync_.wanted.mtu != kMtuOfNewInterface) {
    wanted_mtu_ = sync_.wanted.mtu;
    is_mtu_adopted_ = true;
  }
}

void NicConfig::on_pair_up(messaging::ChannelPair& pair, base::Time now) {
  pair_ = &pair;
  ++epoch_;
  slot_ = Slot::kFree;
  generation_ = 0;
  busy_until_ = {};
  sync_.begin();
  read_tap();
  pump(now);
}

void NicConfig::on_pair_down(base::Time now) {
  on_move();
  end_waiting(now);
}

// A unit that comes back and stops again without a working NIC gets no more time.
void NicConfig::on_unit_stopped(base::Time now) {
  if (!has_carrier_) return on_pair_down(now);
  on_move();
  if (!return_by_) return_by_ = now + kReturnWait;
}

void NicConfig::end_waiting(base::Time now) {
  is_moving_ = false;
  return_by_.reset();
  lose_carrier(now);
}

void NicConfig::on_move() {
  end_settling({}, [](const Settling&) {
    return "the connection to the I/O unit ended before it had replied";
  });
  pair_ = nullptr;
  ++epoch_;
  slot_ = Slot::kFree;
  is_announce_due_ = false;
  is_follow_due_ = false;
  sync_.phase = SyncPhase::kDisconnected;
  sync_.lan_link = false;
  is_moving_ = true;
}

void NicConfig::on_tap_state(base::Time now) {
  const bool was_up = sync_.wanted.admin_up;
  read_tap();
  // Carrier cannot be set while the interface is down.
  if (sync_.wanted.admin_up && !was_up) apply_carrier();
  pump(now);
}

void NicConfig::read_tap() {
  const lan::PortState before = std::exchange(sync_.wanted, tap_.state());
  if (lists_ && sync_.wanted != before) lists_at_ = {};  // promiscuous mode may be due to them
  if (sync_.wanted.mac != before.mac) {
    report(base::EventKind::kMac, "the MAC address is " + control::mac_text(sync_.wanted.mac));
  }
  if (sync_.wanted.mtu != before.mtu) {  // set by the user: our own changes are known at once
    report(base::EventKind::kMtu, "the MTU is " + std::to_string(sync_.wanted.mtu));
    wanted_mtu_ = sync_.wanted.mtu;
    is_mtu_adopted_ = false;
  }
  if (sync_.refused_mac && sync_.wanted.mac != *sync_.refused_mac) {
    sync_.refused_mac.reset();
    sync_.mac_at = base::kNever;
  }
  if (!lists_) sync_.end_refusals();
}

void NicConfig::set_wanted_mtu(std::optional<std::uint32_t> mtu, base::Time now) {
  wanted_mtu_ = mtu;
  is_mtu_adopted_ = false;
  if (mtu) return;  // the I/O unit may take one that is more than the LAN's now
  is_follow_due_ = true;
  pump(now);
}

void NicConfig::pump(base::Time now) {
  if (std::exchange(is_found_with_carrier_, false)) return_by_ = now + kReturnWait;
  if (return_by_ && now >= *return_by_) end_waiting(now);
  if (pair_ == nullptr || !pair_->up()) return;
  follow(now);
  if (now >= lists_at_) read_lists(now);
  if (slot_ == Slot::kOpen || now < busy_until_) return;
  busy_until_ = {};
  if (const SyncStep* step = next_step(sync_, now); step != nullptr) return send(*step, now);
  if (sync_.phase != SyncPhase::kSync) return;
  sync_.phase = SyncPhase::kConfigured;
  is_follow_due_ = true;
  follow(now);
}

// Of a change that shows on the interface; the queues have one.
void NicConfig::report(base::EventKind kind, const std::string& text) const {
  if (!is_additional_) base::log_info({kind, tap_.name()}, tap_.name() + ": " + text);
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
    return end_settling(step.code, [](const Settling&) { return "the I/O unit has not replied"; });
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
    read_tap();
  }
  settle(step);
  if (!effect.is_lan_mtu_known) return;
  // An adopted MTU that is the LAN's was set by an earlier run of this program.
  if (is_mtu_adopted_ && wanted_mtu_ == sync_.lan_mtu) wanted_mtu_.reset();
  is_mtu_adopted_ = false;
  is_follow_due_ = true;
}

void NicConfig::when_settled(CfgCode code, base::Time now, Settled done) {
  if (!configured()) return done(std::nullopt);
  sync_.request_again(code);
  pump(now);
  const auto steps = sync_steps();
  const auto step = std::ranges::find(steps, code, &SyncStep::code);
  const bool is_open = slot_ == Slot::kOpen && open_ == code;
  if (!is_open && (step == steps.end() || !step->is_due(sync_, now))) {
    return done(sync_.refusal_of(code, sync_.wanted));
  }
  if (settling_.size() == kSettlingMax) return done("too many changes wait for the I/O unit");
  settling_.push_back({code, sync_.wanted, std::move(done)});
}

// A reply to a request that was open before the value changed settles nothing: the step is due.
void NicConfig::settle(const SyncStep& step) {
  if (step.is_due(sync_, sync_.sent_at)) return;
  end_settling(step.code,
               [this](const Settling& one) { return sync_.refusal_of(one.code, one.asked); });
}

void NicConfig::end_settling(std::optional<CfgCode> code, const WhyOf& why_of) {
  const auto of_code = [&](const Settling& one) { return !code || one.code == *code; };
  std::vector<Settling> ended;
  std::ranges::copy_if(settling_, std::back_inserter(ended), of_code);
  std::erase_if(settling_, of_code);
  for (const Settling& one : ended) one.done(why_of(one));
}

void NicConfig::follow(base::Time now) {
  if (!is_follow_due_ || now < follow_at_) return;
  is_follow_due_ = false;
  const bool is_speed_news = follow_speed();  // first: who follows the carrier reads it then
  if (configured()) is_moving_ = false;
  if (!is_moving_) return_by_.reset();
  const bool is_carrier_news =
      !is_moving_ && !leaves_carrier_ && is_carrier_wanted() != has_carrier_;
  if (is_carrier_news) apply_carrier();
  const bool is_mtu_news = follow_mtu();
  if (is_speed_news || is_mtu_news || is_carrier_news) count_change(now);
}

// A loss that came too early makes the next change wait twice as long.
void NicConfig::count_change(base::Time now) {
  follow_at_ = std::max(follow_at_, now) + kFollowInterval;
}

void NicConfig::lose_carrier(base::Time now) {
  if (!has_carrier_ || is_carrier_wanted() || leaves_carrier_) return;
  apply_carrier();
  count_change(now);
}

void NicConfig::apply_carrier() {
  const bool had_carrier = std::exchange(has_carrier_, is_carrier_wanted());
  if (has_carrier_ != had_carrier) {
    report(has_carrier_ ? base::EventKind::kCarrierOn : base::EventKind::kCarrierOff,
           has_carrier_ ? "it has carrier" : "it has no carrier");
  }
  if (auto done = tap_.set_carrier(has_carrier_); !done) {
    base::log_debug("carrier: " + done.error().text());
  }
}

// The interface shows the speed of the card. A kernel that cannot set it shows another one. Returns
// whether it has changed: the first one delays no carrier.
bool NicConfig::follow_speed() {
  if (is_additional_ || sync_.lan_speed_mbps == 0) return false;
  const std::pair speed{sync_.lan_speed_mbps, sync_.is_lan_full_duplex};
  const auto before = std::exchange(shown_speed_, speed);
  if (before == speed) return false;
  if (auto done = tap_.set_speed(speed.first, speed.second); !done) {
    base::log_debug("speed: " + done.error().text());
  }
  return before.first != 0;
}

// Sets the smaller of the LAN's MTU and the user's, if the user has set one. Returns whether that
// is another one.
bool NicConfig::follow_mtu() {
  const auto mtu_wanted = [this] {
    return std::min(wanted_mtu_.value_or(sync_.lan_mtu), sync_.lan_mtu);
  };
  if (sync_.lan_mtu == 0 || mtu_wanted() == sync_.wanted.mtu) return false;
  read_tap();  // the user may have set another one since
  const std::uint32_t mtu = mtu_wanted();
  if (mtu == sync_.wanted.mtu) return false;
  const auto done = tap_.set_mtu(mtu);
  if (done)
    sync_.wanted.mtu = mtu;
  else
    base::log_warn(done.error().within("MTU").text());
  read_tap();
  if (sync_.wanted.mtu == mtu) {
    report(base::EventKind::kMtu,
           "the MTU is " + std::to_string(mtu) + (mtu == sync_.lan_mtu ? ", that of the LAN" : ""));
  }
  return true;
}

void NicConfig::read_lists(base::Time now) {
  lists_at_ = now + kListsInterval;
  auto listed = lists_();
  if (!listed) return;  // what was read last stays in force
  sync_.listed = *std::move(listed);
  sync_.end_refusals();
}

void NicConfig::take_lan_mtu(std::uint32_t mtu) {
  sync_.set_lan_mtu(mtu);
  const bool is_small = mtu < kIp6MtuMin;
  if (std::exchange(is_small_mtu_noted_, is_small) || !is_small || is_additional_) return;
  base::log_warn("the LAN of the I/O unit has an MTU of " + std::to_string(mtu) +
                 (mtu < lan::kRequestedMtuMin ? ": ignored, because every host accepts " +
                                                    std::to_string(lan::kRequestedMtuMin) + " bytes"
                                              : ": the interface has no IPv6 with less than " +
                                                    std::to_string(kIp6MtuMin)));
}

void NicConfig::on_vlan(std::uint16_t id, bool is_listed, bool is_done) {
  if (is_listed)
    is_done ? sync_.vlans.on_added(id) : sync_.vlans.add(id);
  else
    is_done ? sync_.vlans.on_removed(id) : sync_.vlans.remove(id);
}

// Whoever sends super-frames that the other end does not take any more loses them.
base::Status NicConfig::limit_offloads(std::uint32_t off) {
  return tap_.set_offloads(lan::offloads_in_force(sync_.offloads & ~off));
}

base::Status NicConfig::set_offloads_off(std::uint32_t off, bool is_done) {
  sync_.offloads_off = off;
  if (is_done) sync_.acknowledged.offloads = sync_.offloads_wanted();
  return limit_offloads(off);
}

base::Time NicConfig::deadline() const {
  const base::Time return_by = return_by_.value_or(base::kNever);
  if (pair_ == nullptr || !pair_->up()) return return_by;
  const base::Time follow_at =
      std::min({is_follow_due_ ? follow_at_ : base::kNever, lists_at_, return_by});
  if (slot_ != Slot::kFree) return follow_at;
  if (busy_until_ != base::Time{}) return std::min(follow_at, busy_until_);
  return std::min(follow_at, sync_.deadline());
}

void NicConfig::on_link_lost(base::Time now) {
  is_link_lost_ = true;
  if (!return_by_) lose_carrier(now);
}

void NicConfig::on_link_back() {
  if (!is_link_lost_) return;
  is_link_lost_ = false;
  is_follow_due_ = true;
}

CfgReply NicConfig::on_event(const messaging::CfgRequest& request, base::Time now) {
  cfg::EventRequest event;
  if (!parse(request, event)) return {CfgStatus::kBadValue, {}};
  if (event.generation() <= generation_) return {};  // an older one, repeated
  generation_ = event.generation();
  sync_.lan_link = event.link().up();
  sync_.lan_speed_mbps = event.link().speed_mbps();
  sync_.is_lan_full_duplex = event.link().full_duplex();
  if (event.mtu() != 0) take_lan_mtu(event.mtu());
  is_follow_due_ = true;
  follow(now);
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
