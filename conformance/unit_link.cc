// INIT of the suite's I/O unit. docs/protocol/init.md#init
#include <algorithm>
#include <utility>

#include "conformance/unit.h"

namespace splitnic::conformance {
namespace {

using fabric::Init;
using fabric::InitStep;

constexpr fabric::Lid kUnitLid{1};
constexpr fabric::Lid kHostLid{2};
constexpr std::uint16_t kMcpMax = 1364;  // whatever the carrier: the same cells in every run
constexpr std::size_t kKeptMax = 1000;   // more are a flood

}  // namespace

Unit::Unit(Line& line, UnitLink& link, const EndConfig& config, base::Random& random,
           Outcome& outcome)
    : End(line, config, random, outcome), link_(link) {
  mcp_ = std::min(mcp_, kMcpMax);
  if (link.is_up) mcp_ = std::min(mcp_, link.host_mcp_max);
  is_linked_ = link.is_up;
  instance_ = link.instance;
  target_.instance = link.host_instance;
  target_.eui64 = link.host_eui64;
  target_.takes_fragments = link.host_takes_fragments;
  lid_ = kUnitLid;
  target_.lid = kHostLid;
}

void Unit::begin_instance() {
  if (std::exchange(link_.was_up, false)) link_.left_instance = instance_;
  link_.instance = instance_ = (random().next() ^ config().process) | 1;
  link_.token = (random().next() ^ config().process) | 1;
  set_linked(false);
  is_connected_ = false;
}

void Unit::end_link() {
  if (link_.is_up) send(init(InitStep::kBye));
  begin_instance();
}

Init Unit::reply_to(InitStep step, const Init& theirs) {
  Init reply = init(step);
  reply.peer_instance = theirs.instance;
  reply.echo = theirs.nonce;
  if (step == InitStep::kChallenge) reply.nonce = link_.token;
  if (step == InitStep::kReady) reply.offered_lid = kHostLid;
  return reply;
}

void Unit::take_init(const Event& event) {
  const Init& theirs = event.init;
  if (inits_.size() == kKeptMax) return outcome().fail("a host that does not flood", "INIT");
  inits_.push_back({now(), theirs, event.datagram_bytes});
  const bool is_known =
      link_.is_up && theirs.eui64 == link_.host_eui64 && theirs.instance == link_.host_instance;
  switch (theirs.step) {
    case InitStep::kHello:
      if (!link_.profile && theirs.profile != fabric::LinkProfile::kShm) {
        link_.profile = theirs.profile;
      }
      if (!replies_to_hello) return;
      // In the full profile one that does not know this instance came late. [P-INIT-10]
      if (!is_known || (is_full() && theirs.peer_instance == 0)) {
        return send(reply_to(InitStep::kChallenge, theirs));
      }
      start_lanes(theirs, theirs.nonce, false);
      return send(reply_to(InitStep::kReady, theirs));
    case InitStep::kAnswer:
      if (!replies_to_hello || theirs.echo != link_.token) return;
      if (!is_known) is_connected_ = false;
      set_linked(true);
      link_.host_mcp_max = theirs.mcp_max;
      mcp_ = std::min(mcp_, theirs.mcp_max);
      link_.host_eui64 = target_.eui64 = theirs.eui64;
      link_.host_takes_fragments = target_.takes_fragments = theirs.takes_fragments();
      link_.host_instance = target_.instance = theirs.instance;
      start_lanes(theirs, theirs.nonce, false);
      return send(reply_to(InitStep::kReady, theirs));
    case InitStep::kBye:
      if (!is_known) return;
      set_linked(false);
      is_connected_ = false;
      return;
    default:
      return inbox().add(event);
  }
}

template <class Found>
bool Unit::await_found(base::Time until, Found&& found) {
  while (is_good() && !found()) {
    if (now() >= until) return false;
    pump(until);
  }
  return is_good();
}

bool Unit::await_link() {
  const bool is_linked = await_found(now() + link_.reconnect, [this] { return link_.is_up; });
  return is_linked || expect(false, "a host that links: HELLO, and the reply to CHALLENGE");
}

std::optional<SeenInit> Unit::await_seen(InitStep step, std::size_t seen,
                                         std::string_view expected) {
  std::optional<SeenInit> out;
  await_found(now() + link_.reconnect, [&] {
    for (std::size_t i = seen; i < inits_.size() && !out; ++i) {
      if (inits_[i].init.step == step) out = inits_[i];
    }
    return out.has_value();
  });
  if (!out) expect(false, expected);
  return out;
}

std::optional<SeenRequest> Unit::await_cfg(messaging::CfgCode code, std::size_t seen,
                                           std::string_view expected) {
  std::optional<SeenRequest> out;
  await_found(now() + link_.reconnect, [&] {
    for (std::size_t i = seen; i < requests_.size() && !out; ++i) {
      if (requests_[i].code == code) out = requests_[i];
    }
    return out.has_value();
  });
  if (!out && !expected.empty()) expect(false, expected);
  return out;
}

void Unit::set_linked(bool is_linked) {
  End::set_linked(is_linked);
  link_.is_up = is_linked;
  link_.was_up |= is_linked;
}

// [P-INIT-11] The first message with the instance of the unit shows that the host has taken READY.
bool Unit::is_of_link_before(const fabric::Mgmt& theirs) {
  if (theirs.peer_instance == instance_) link_.left_instance = 0;
  return link_.left_instance != 0 && theirs.peer_instance == link_.left_instance;
}

}  // namespace splitnic::conformance
