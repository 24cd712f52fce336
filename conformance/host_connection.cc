// Connections of the suite's host. docs/protocol/mgmt.md, docs/protocol/channels.md#capabilities
#include "conformance/host.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Mgmt;
using fabric::MgmtKind;

constexpr base::Duration kAskEvery = 100ms;

}  // namespace

Mgmt Host::request(std::string_view capabilities) {
  transaction_ = random().next() ^ config().process;
  Mgmt m = mgmt(MgmtKind::kConnectReq, transaction_);
  describe(m, capabilities);
  return m;
}

std::optional<Event> Host::ask(Mgmt& request) {
  for (const base::Time until = now() + 5 * config().timeout;; listen(kAskEvery)) {
    send(request);
    auto event = await(EventKind::kMgmt, "a reply to CONNECT_REQ");
    const bool is_limited = event && event->mgmt.kind == MgmtKind::kConnectRej &&
                            event->mgmt.reject == fabric::MgmtReject::kNoResources;
    if (!is_limited || now() >= until) return event;
    request.transaction = transaction_ = random().next() ^ config().process;
  }
}

bool Host::connect() {
  Mgmt request = this->request(capabilities_of(terms));
  const auto event = ask(request);
  if (!event) return false;
  const Mgmt& reply = event->mgmt;
  if (reply.kind == MgmtKind::kConnectRej) {
    outcome().reject("a connection", inbox().last());
    return false;
  }
  if (!expect(reply.kind == MgmtKind::kConnectRep && reply.transaction == transaction_,
              "CONNECT_REP of our transaction") ||
      !adopt(reply)) {
    return false;
  }
  send(mgmt(MgmtKind::kConnectRtu, transaction_));
  return is_good();
}

bool Host::attach() { return link() && connect() && advertise(*this); }

bool Host::start_nic() {
  messaging::cfg::InitNicRequest init_nic;
  init_nic.set_node_name("conform");
  init_nic.set_features_wanted(kFeatureVnet);
  messaging::cfg::SetMacRequest set_mac;
  set_mac.set_mac(mac());
  const std::array<std::pair<messaging::CfgCode, std::string>, 3> requests{
      {{messaging::CfgCode::kInitNic, init_nic.SerializeAsString()},
       {messaging::CfgCode::kSetMac, set_mac.SerializeAsString()},
       {messaging::CfgCode::kStart, {}}}};
  for (const auto& [code, data] : requests) {
    const auto reply = request_cfg(*this, code, data);
    const std::string expected = std::string(name(code)) + " OK";
    if (!expect(reply && reply->status == messaging::CfgStatus::kOk, expected)) return false;
  }
  return true;
}

bool Host::take_cfg_request(const Event& event) {
  if (!habits.replies_to_requests) return true;
  const auto request = messaging::CfgUtilRequest::parse(event.bytes);
  if (!rule(request.has_value(), "CfgUtilRequest that parses")) return false;
  ByteVector reply(messaging::CfgUtilReply::bytes(0));
  messaging::CfgUtilReply{request->context, request->code, messaging::CfgStatus::kOk, {}}.emit(
      reply);
  send_message(*this, reply);
  return true;
}

// Whatever became of the case: the target has nothing of it any more.
void Host::leave() {
  if (target_.instance == 0 || (line().is_keyed() && !line().session().has_keys())) return;
  Outcome other;
  Host last(line(), config(), random(), other);
  last.instance_ = instance_;
  last.target_ = target_;
  last.lid_ = lid_;
  if (is_connected_) last.send(last.mgmt(MgmtKind::kDisc, transaction_));
  last.send(last.init(fabric::InitStep::kBye));
}

}  // namespace splitnic::conformance
