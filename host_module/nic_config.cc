#include "host_module/nic_config.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgReply;
using namespace std::chrono_literals;

constexpr std::uint32_t kMtuOfNewInterface = 1500;
constexpr base::Duration kAskAgainAfter = 1s;

std::string mac_bytes(const lan::MacAddress& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

template <class Message>
bool parse(const messaging::CfgRequest& request, Message& out) {
  return out.ParseFromArray(request.data.data(), static_cast<int>(request.data.size()));
}

// No answer says nothing, not even that the request was not carried out: what is not acknowledged
// is asked again.
bool is_ok(const CfgReply& reply) {
  return reply.replied && reply.status == messaging::CfgStatus::kOk;
}

}  // namespace

// An interface that was there before us may carry an MTU that its user chose.
NicConfig::NicConfig(lan::FramePort& tap, Wishes wishes)
    : tap_(tap), wishes_(std::move(wishes)), wanted_mtu_(wishes_.mtu) {
  wanted_ = tap_.state();
  if (!wanted_mtu_ && wanted_.mtu != kMtuOfNewInterface) {
    wanted_mtu_ = wanted_.mtu;
    is_mtu_adopted_ = true;
  }
}

void NicConfig::on_pair_up(messaging::ChannelPair& pair, base::Time now) {
  pair_ = &pair;
  ++epoch_;
  busy_ = initialised_ = compared_ = configured_ = filter_sent_ = has_no_slot_ = false;
  refused_mac_.reset();
  ask_again_ = base::kNever;
  init_again_ = base::Time{};
  generation_ = 0;
  acknowledged_.reset();
  wanted_ = tap_.state();
  pump(now);
}

void NicConfig::on_pair_down() {
  pair_ = nullptr;
  ++epoch_;
  busy_ = configured_ = initialised_ = is_announce_due_ = false;
  lan_link_ = false;
  apply_carrier();
}

void NicConfig::on_tap_state(base::Time now) {
  const bool was_up = wanted_.admin_up;
  const std::uint32_t mtu = wanted_.mtu;
  wanted_ = tap_.state();
  if (wanted_.mtu != mtu) {  // the user's doing: ours is known at once
    wanted_mtu_ = wanted_.mtu;
    is_mtu_adopted_ = false;
  }
  if (refused_mac_ && wanted_.mac != *refused_mac_) {
    refused_mac_.reset();
    ask_again_ = base::kNever;
  }
  if (wanted_.admin_up && !was_up)
    apply_carrier();  // carrier cannot be set while the interface is down
  pump(now);
}

bool NicConfig::request(messaging::CfgCode code, const std::string& data, messaging::CfgDone done) {
  const std::uint64_t epoch = epoch_;
  auto sent =
      pair_->request(code, data, [this, epoch, done = std::move(done)](const CfgReply& reply) {
        if (epoch != epoch_) return;
        busy_ = false;
        done(reply);
      });
  busy_ = sent.has_value();
  has_no_slot_ = !busy_;
  return busy_;
}

void NicConfig::send_init(base::Time now) {
  cfg::InitNicRequest ask;
  ask.set_node_name(wishes_.node_name);
  ask.set_features_wanted(tap_.offloads());
  request(messaging::CfgCode::kInitNic, ask.SerializeAsString(),
          [this, now](const CfgReply& reply) {
            cfg::InitNicReply got;
            if (!reply.replied) return;
            if (!is_ok(reply) || !got.ParseFromString(reply.data)) {
              if (init_again_ == base::Time{}) {
                base::log_warn("the I/O unit refused INIT_NIC: " +
                               std::string(messaging::name(reply.status)));
              }
              init_again_ = now + kAskAgainAfter;
              return;
            }
            initialised_ = true;
            acknowledged_.emplace();
            acknowledged_->mtu = 0;
            features_ = static_cast<std::uint32_t>(got.features_granted());
            lan_link_ = got.link().up();
            if (wishes_.takes_lan_mac && got.mac().size() == lan::MacAddress{}.size()) {
              lan::MacAddress mac;
              std::memcpy(mac.data(), got.mac().data(), mac.size());
              if (auto done = tap_.set_mac(mac); !done) base::log_warn(done.error().text());
              wanted_ = tap_.state();
            }
            lan_mtu_ = got.mtu_max();
            // Found as the LAN has it: an earlier run of ours put it there.
            if (is_mtu_adopted_ && wanted_mtu_ == lan_mtu_) wanted_mtu_.reset();
            is_mtu_adopted_ = false;
            follow_mtu();
          });
}

// What the I/O unit should have of us.
messaging::NicState NicConfig::wanted_state() const {
  messaging::NicState state;
  state.mac = wanted_.mac;
  state.promiscuous = wanted_.promiscuous;
  state.all_multicast = true;
  state.mtu = wanted_.mtu;
  state.offloads = features_;
  return state;
}

// The I/O unit may know us from before: if it has all of it, nothing is sent again. A unit that
// does not know the request is told everything. Whether it is started is not in the digest.
void NicConfig::ask_state() {
  request(messaging::CfgCode::kGetState, {}, [this](const CfgReply& reply) {
    if (!reply.replied) return;
    compared_ = true;
    cfg::GetStateReply got;
    if (!is_ok(reply) || !got.ParseFromString(reply.data)) return;
    if (got.digest() != wanted_state().digest()) return;
    acknowledged_ = wanted_;
    acknowledged_->admin_up = !(wanted_.admin_up && !is_held_down_);
    filter_sent_ = true;
  });
}

void NicConfig::send_filter() {
  cfg::SetFilterRequest ask;
  ask.mutable_filter()->set_promiscuous(wanted_.promiscuous);
  ask.mutable_filter()->set_all_multicast(true);
  const lan::PortState sent = wanted_;
  request(messaging::CfgCode::kSetFilter, ask.SerializeAsString(),
          [this, sent](const CfgReply& reply) {
            if (!reply.replied) return;
            acknowledged_->promiscuous = sent.promiscuous;
            filter_sent_ = true;
          });
}

// One step toward the wanted state; the answer of each brings the next turn's step.
void NicConfig::pump(base::Time now) {
  if (pair_ == nullptr || !pair_->up() || busy_) return;
  if (!initialised_) {
    if (now >= init_again_) send_init(now);
    return;
  }
  if (!compared_) return ask_state();
  lan::PortState want = wanted_;
  want.admin_up = want.admin_up && !is_held_down_;
  if (acknowledged_->mac != want.mac && (!is_refused(want.mac) || now >= ask_again_)) {
    cfg::SetMacRequest ask;
    ask.set_mac(mac_bytes(want.mac));
    request(
        messaging::CfgCode::kSetMac, ask.SerializeAsString(),
        [this, want, now](const CfgReply& reply) {
          if (!reply.replied) return;
          if (is_ok(reply)) {
            acknowledged_->mac = want.mac;
            refused_mac_.reset();
            ask_again_ = base::kNever;
            return;
          }
          ask_again_ = now + kAskAgainAfter;
          if (is_refused(want.mac)) return;
          refused_mac_ = want.mac;
          base::log_warn("the I/O unit refused the interface's MAC address: another host has it?");
        });
    return;
  }
  if (acknowledged_->mtu != want.mtu) {
    cfg::SetMtuRequest ask;
    ask.set_mtu(want.mtu);
    request(messaging::CfgCode::kSetMtu, ask.SerializeAsString(),
            [this, want](const CfgReply& reply) {
              if (!reply.replied) return;
              cfg::SetMtuReply got;
              acknowledged_->mtu = want.mtu;
              const bool is_told = is_ok(reply) && got.ParseFromString(reply.data);
              if (!is_told || got.mtu() == 0) return;
              // Less than was asked for is the LAN's; what was granted the LAN has at the least.
              lan_mtu_ = got.mtu() < want.mtu ? got.mtu() : std::max(lan_mtu_, got.mtu());
              follow_mtu();
            });
    return;
  }
  if (!filter_sent_ || acknowledged_->promiscuous != want.promiscuous) return send_filter();
  if (acknowledged_->admin_up != want.admin_up) {
    request(want.admin_up ? messaging::CfgCode::kStart : messaging::CfgCode::kStop, {},
            [this, want](const CfgReply& reply) {
              if (reply.replied) acknowledged_->admin_up = want.admin_up;
            });
    return;
  }
  if (configured_) return;
  configured_ = true;
  apply_carrier();
}

void NicConfig::apply_carrier() {
  if (auto done = tap_.set_carrier(configured_ && lan_link_ && !is_link_lost_); !done) {
    base::log_debug("carrier: " + done.error().text());
  }
}

// The smaller of the LAN's MTU and the user's wish, if there is one.
void NicConfig::follow_mtu() {
  if (lan_mtu_ == 0) return;
  const std::uint32_t mtu = std::min(wanted_mtu_.value_or(lan_mtu_), lan_mtu_);
  if (mtu == wanted_.mtu) return;
  if (auto done = tap_.set_mtu(mtu); !done) base::log_warn(done.error().within("MTU").text());
  wanted_ = tap_.state();
}

base::Time NicConfig::deadline() const {
  if (pair_ == nullptr || !pair_->up() || busy_ || has_no_slot_) return base::kNever;
  if (!initialised_) return init_again_ == base::Time{} ? base::kNever : init_again_;
  return acknowledged_->mac == wanted_.mac ? base::kNever : ask_again_;
}

void NicConfig::on_link_lost() {
  is_link_lost_ = true;
  apply_carrier();
}

void NicConfig::on_link_back() {
  if (!is_link_lost_) return;
  is_link_lost_ = false;
  apply_carrier();
}

CfgReply NicConfig::on_request(const messaging::CfgRequest& request) {
  switch (request.code) {
    case messaging::CfgCode::kEcho: {
      cfg::EchoRequest echo;
      if (!parse(request, echo)) return {messaging::CfgStatus::kBadValue, {}};
      cfg::EchoReply reply;
      reply.set_data(echo.data());
      return {messaging::CfgStatus::kOk, reply.SerializeAsString()};
    }
    case messaging::CfgCode::kEvent: {
      cfg::EventRequest event;
      if (!parse(request, event)) return {messaging::CfgStatus::kBadValue, {}};
      if (event.generation() <= generation_) return {};  // an older one, repeated
      generation_ = event.generation();
      lan_link_ = event.link().up();
      apply_carrier();
      if (event.mtu() != 0) lan_mtu_ = event.mtu();
      follow_mtu();
      return {};
    }
    case messaging::CfgCode::kAnnounce:
      is_announce_due_ = true;
      return {};
    case messaging::CfgCode::kGetVersion: {
      cfg::GetVersionReply reply;
      reply.set_version(messaging::kMessageVersion);
      reply.set_version_highest(messaging::kMessageVersion);
      reply.set_program("splitnic-host");
      return {messaging::CfgStatus::kOk, reply.SerializeAsString()};
    }
    default:
      return {messaging::CfgStatus::kUnknown, {}};
  }
}

}  // namespace splitnic::host
