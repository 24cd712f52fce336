// INIT of the suite's host. docs/protocol/init.md#init
#include <algorithm>

#include "conformance/host.h"

namespace splitnic::conformance {
namespace {

using fabric::Init;
using fabric::InitStep;

}  // namespace

void Host::begin_instance(std::uint64_t instance) {
  instance_ = instance;
  target_.instance = 0;
  lid_ = target_.lid = {};
  is_connected_ = is_linked_ = false;
}

// The target has begun with its lanes when it has sent READY.
void Host::take_init(const Event& event) {
  if (event.init.step == InitStep::kReady) start_lanes(event.init, event.init.echo, true);
  inbox().add(event);
}

bool Host::link() {
  const Init hello = init(InitStep::kHello);
  std::uint64_t nonce = hello.nonce;
  send(hello);
  auto reply = await_init("a reply to HELLO");
  if (reply && reply->step == InitStep::kChallenge) {
    target_.instance = reply->instance;
    Init proof = init(InitStep::kAnswer);
    proof.echo = reply->nonce;
    nonce = proof.nonce;
    send(proof);
    reply = await_init("READY");
  }
  if (!reply) return false;
  if (reply->step == InitStep::kRefuse) {
    outcome().reject("a link", inbox().last());
    return false;
  }
  if (!expect(reply->step == InitStep::kReady && reply->echo == nonce,
              "READY that echoes the nonce")) {
    return false;
  }
  target_.instance = reply->instance;
  target_.eui64 = reply->eui64;
  target_.lid = reply->lid;
  target_.takes_fragments = reply->takes_fragments();
  lid_ = reply->offered_lid;
  mcp_ = std::min(mcp_, reply->mcp_max);
  is_linked_ = true;
  inbox().forget_cells();
  return expect(lid_ != fabric::Lid() && target_.lid != fabric::Lid() && lid_ != target_.lid,
                "two link addresses in READY");
}

std::optional<Init> Host::await_init(std::string_view expected) {
  const auto event = await(EventKind::kInit, expected);
  if (!event) return std::nullopt;
  return event->init;
}

bool Host::expect_no_init(std::string_view expected) {
  Init hello = init(InitStep::kHello);
  hello.instance = random().next() | 1;  // nobody knows it: the reply is CHALLENGE
  hello.peer_instance = 0;
  send(hello);
  const auto reply = await_init("a reply to HELLO, after a datagram that is to be dropped");
  return reply && expect(reply->echo == hello.nonce, expected);
}

}  // namespace splitnic::conformance
