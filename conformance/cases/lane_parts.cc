#include "conformance/cases/lane_parts.h"

#include "conformance/messages.h"

namespace splitnic::conformance {

using namespace std::chrono_literals;
using fabric::InitStep;

namespace {

constexpr std::size_t kLongEcho = 600;  // bytes
constexpr std::uint8_t kDataLanes = 4;

}  // namespace

bool begin_link(Host& h) { return h.link(); }
bool begin_link(Unit& u) {
  u.end_link();
  return u.await_link();
}

bool connect_only(Host& h) { return h.connect(); }
bool connect_only(Unit& u) {
  const auto request = u.await_request();
  return request && u.accept(request->mgmt, u.reply_of(request->mgmt));
}

void set_speaking(End& h, bool speaks) {
  h.habits.keeps_alive = h.habits.acknowledges = h.habits.replies_to_probes = speaks;
}

void begin_silence(Host& h) { set_speaking(h, false); }
void begin_silence(Unit& u) {
  set_speaking(u, false);
  u.replies_to_hello = false;
}

bool link_again(Host& h) {
  h.send(h.init(InitStep::kHello));
  const auto reply = h.await_init("READY");
  return reply && h.expect(reply->step == InitStep::kReady, "READY: the instance is known");
}
bool link_again(Unit& u) {
  u.replies_to_hello = true;
  return u.await_seen(InitStep::kHello, u.inits().size(), "HELLO on a link that is down")
      .has_value();
}

bool wait_until(End& h, const std::function<bool()>& holds) {
  for (const base::Time until = h.now() + h.config().timeout;
       h.is_good() && !holds() && h.now() < until;) {
    h.listen(2ms);
  }
  return holds();
}

bool ask_long_echo(End& h, messaging::TransactionContext context) {
  const ByteVector request = echo_message(context, kLongEcho);
  if (!can_send(h, request.size())) return false;
  send_message(h, request);
  return h.is_good();
}

void grant_all(End& h, std::uint32_t blocks) {
  for (std::uint8_t vl = 0; vl < kDataLanes; ++vl) h.lanes().grant(vl, blocks);
  h.send_lanes();
}

}  // namespace splitnic::conformance
