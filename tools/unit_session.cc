#include "tools/unit_session.h"

#include <algorithm>
#include <utility>

#include "control/config/version.h"
#include "control/identity.h"
#include "messaging/any_nic.h"

namespace splitnic::tools {
namespace {

// A pair has pools, and this one never gets a frame.
constexpr messaging::PoolSpec kPool{8, 2048};
constexpr base::Duration kCloseWithin = std::chrono::seconds(1);

fabric::AdapterLimits adapter_limits() {
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;
  return limits;
}

}  // namespace

UnitSession::UnitSession(control::Endpoint unit, const control::KeyOptions& keys)
    : unit_(std::move(unit)),
      keys_(keys),
      instance_(random_.next() | 1),
      keyed_(keys_, instance_, 0, clock_, random_),
      adapter_(adapter_limits(), random_) {
  adapter_.connections().set_handler(*this);
}

UnitSession::~UnitSession() = default;

base::Status UnitSession::open() {
  auto carrier = control::connect_carrier(unit_, {.reports_limits = false});
  if (!carrier) return carrier.error().within("connecting to " + unit_.text());
  carrier_ = *std::move(carrier);
  fabric::PortConfig config;
  // Without keys it is nobody that the unit knows: no host of this machine loses its place.
  config.eui64 = fabric::local_eui64(random_.next());
  config.instance = instance_;
  config.crc_head_only = unit_.is_shm();
  at_ = carrier_.peer;
  fabric::Underlay* top = carrier_.underlay.get();
  if (keys_.are_given()) {
    const auto keyed = keyed_.add(*top, keys_.peers, at_);
    if (!keyed) return keyed.error();
    top = keyed->underlay;
    at_ = keyed->peers.front();
    config.eui64 = fabric::Eui64(keyed->eui64);
  }
  const auto port = adapter_.add_port(*top, config);
  if (!port) return port.error();
  port_ = *port;
  waiting_.add(*top);
  return {};
}

base::Result<std::string> UnitSession::ask(messaging::CfgCode code, base::Duration patience) {
  code_ = code;
  const base::Time end = clock_.now() + patience;
  port_->connect(at_, clock_.now());
  while (!reply_ && why_.empty() && clock_.now() < end) {
    iterate(end);
  }
  close();
  if (!why_.empty()) return base::Error(why_);
  if (!reply_) return silence();
  if (reply_->status == messaging::CfgStatus::kOk) {
    return {boost::system::in_place_value, reply_->data};
  }
  return base::Error("the I/O unit refused " + std::string(messaging::name(code)) + ": " +
                     std::string(messaging::name(reply_->status)));
}

// The unit detaches us at the end of the connection. The end of the link alone would leave it
// waiting for our return.
void UnitSession::close() {
  is_closing_ = true;
  if (connection_ != nullptr) connection_->close(clock_.now());
  connection_.reset();
  const base::Time end = clock_.now() + kCloseWithin;
  while (adapter_.connections().size() > 0 && clock_.now() < end) {
    iterate(end);
  }
  port_->send_bye(clock_.now());
  port_->flush(clock_.now());
}

base::Error UnitSession::silence() const {
  const std::string who = "no reply from " + unit_.text();
  if (link_ != nullptr) return base::Error(who + " to the request: try again");
  if (keys_.are_given() && !keyed_.are_agreed(at_)) {
    return base::Error(who +
                       ": is splitnic-iou running there, is --peer its key, and does its "
                       "--allow-key name our key? It is silent to keys that it does not know");
  }
  return base::Error(who +
                     ": is splitnic-iou running there, do firewalls let its UDP port pass, and "
                     "does its --allow, if it has one, name this machine?");
}

bool UnitSession::step() {
  const base::Time now = clock_.now();
  bool made_progress = adapter_.receive(now);
  if (connection_ != nullptr) made_progress |= connection_->poll(now);
  adapter_.transmit(now);
  return made_progress;
}

void UnitSession::iterate(base::Time until) {
  const bool made_progress = step();
  base::Time at = std::min(until, adapter_.deadline());
  if (connection_ != nullptr) at = std::min(at, connection_->deadline());
  const bool is_blocked = adapter_.wants_write();
  waiting_.wait(clock_.now(),
                {.made_progress = made_progress, .wants_write = is_blocked, .deadline = at});
  if (is_blocked && waiting_.has_room()) adapter_.on_writable(clock_.now());
}

void UnitSession::on_link_up(fabric::Link& link) {
  link_ = &link;
  messaging::PairConfig config;
  config.pools = {kPool};
  config.node_name = control::machine_name();
  config.program = control::version_text("splitnic");
  config.nic = messaging::kAnyNic;
  messaging::PairOwner& owner = *this;
  connection_ = std::make_unique<messaging::Connection>(adapter_, config, random_, owner);
  if (auto begun = connection_->connect(link, clock_.now()); !begun) end(begun.error().text());
}

void UnitSession::end(std::string_view why) {
  if (why_.empty() && !reply_ && !is_closing_) why_ = why;
}

void UnitSession::on_link_down(fabric::Link&, std::string_view why) { end(why); }

void UnitSession::on_pair_up(messaging::ChannelPair& pair) {
  const auto sent = pair.request(code_, {}, [this](const messaging::CfgReply& reply) {
    if (reply.replied) {
      reply_ = reply;
    } else {
      end("the I/O unit does not reply to " + std::string(messaging::name(code_)));
    }
  });
  if (!sent) end(sent.error().text());
}

void UnitSession::on_pair_down(messaging::ChannelPair&, const std::string& why) { end(why); }

messaging::CfgReply UnitSession::on_cfg_request(messaging::ChannelPair&,
                                                const messaging::CfgRequest&) {
  return {};
}

}  // namespace splitnic::tools
