// Connections of the suite's I/O unit. docs/protocol/mgmt.md#connection
#include <algorithm>
#include <utility>

#include "base/parse_message.h"
#include "conformance/pools.h"
#include "conformance/unit.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Mgmt;
using fabric::MgmtKind;

constexpr base::Duration kDiscEvery = 100ms;
constexpr int kDiscsMax = 3;
// A host that has sent START sends no more of its settings than fit into this time.
constexpr base::Duration kSettle = 3ms;

bool is_request(const Event& event) {
  return event.kind == EventKind::kMgmt && event.mgmt.kind == MgmtKind::kConnectReq;
}

}  // namespace

void Unit::take_mgmt(const Event& event) {
  const Mgmt& theirs = event.mgmt;
  switch (theirs.kind) {
    case MgmtKind::kConnectRtu:
      ++rtus_;
      return;
    case MgmtKind::kConnectReq:
      if (const auto known = rejections_.find(theirs.transaction); known != rejections_.end()) {
        if (replies_to_repeats) send_mgmt(known->second);
        return;
      }
      if (rep_.empty() || theirs.transaction != transaction_) return inbox().add(event);
      if (replies_to_repeats) send_mgmt(rep_);
      return;
    default:
      return End::take_mgmt(event);
  }
}

std::optional<Event> Unit::await_request(std::string_view expected) {
  auto request = await_until(is_request, now() + link_.reconnect, expected);
  if (request) follow(request->mgmt);
  if (!is_good()) return std::nullopt;
  return request;
}

// [P-CH-18]
void Unit::follow(const Mgmt& request) {
  namespace connect = messaging::connect;
  connect::Capabilities theirs;
  if (!base::parse_message(request.private_data, theirs)) return;  // a case looks at them
  if (theirs.mode() == connect::MODE_SEND && !serves_mode_send) {
    return outcome().skip("the host asks for the mode send");
  }
  terms.channels = theirs.channels() == connect::CHANNELS_ONE        ? Terms::Channels::kOne
                   : theirs.channels() == connect::CHANNELS_SEPARATE ? Terms::Channels::kSeparate
                                                                     : Terms::Channels::kTwo;
  terms.connecting = theirs.channel();
}

Mgmt Unit::reply_of(const Mgmt& request, std::string_view capabilities) {
  Mgmt reply = mgmt(MgmtKind::kConnectRep, request.transaction);
  const std::string mine = capabilities_of(terms);
  describe(reply, capabilities.empty() ? std::string_view(mine) : capabilities);
  for (std::size_t i = 0; i < reply.pair_count; ++i) {
    for (const fabric::MgmtPair& theirs : request.used_pairs()) {
      if (theirs.channel != reply.pairs[i].channel) continue;
      reply.pairs[i].peer_qpn = theirs.qpn;
      reply.pairs[i].mcp = std::min(reply.pairs[i].mcp, theirs.mcp);
    }
  }
  return reply;
}

bool Unit::accept(const Mgmt& request, const Mgmt& reply) {
  if (!adopt(request)) return false;
  transaction_ = request.transaction;
  rep_.resize(reply.bytes());
  fabric::emit_mgmt(rep_, reply);
  send_mgmt(rep_);
  return is_good();
}

void Unit::reject(const Mgmt& request, fabric::MgmtReject code, std::string_view text) {
  Mgmt reply = mgmt(MgmtKind::kConnectRej, request.transaction);
  reply.reject = code;
  reply.private_data = base::as_bytes(text);
  ByteVector bytes(reply.bytes());
  fabric::emit_mgmt(bytes, reply);
  send_mgmt(bytes);
  rejections_[reply.transaction] = std::move(bytes);
  inbox().forget_if([&reply](const Event& event) {
    return is_request(event) && event.mgmt.transaction == reply.transaction;
  });
}

bool Unit::connect() {
  if (!await_link()) return false;
  const auto request = await_request();
  return request && accept(request->mgmt, reply_of(request->mgmt)) && advertise(*this);
}

bool Unit::attach() {
  if (!connect()) return false;
  await_cfg(messaging::CfgCode::kStart, 0, {});
  listen(kSettle);
  inbox().forget();
  return is_good();
}

void Unit::leave() {
  if (!is_connected_ || !link_.is_up) return;
  Outcome other;
  Unit last(line(), link_, config(), random(), other);
  for (int i = 0; i < kDiscsMax; ++i) {
    last.send(last.mgmt(MgmtKind::kDisc, transaction_));
    const auto reply = last.await_until([](const Event& e) { return e.kind == EventKind::kMgmt; },
                                        now() + kDiscEvery, {});
    if (reply) return;
  }
}

}  // namespace splitnic::conformance
