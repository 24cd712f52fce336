#include "conformance/cases/link_parts.h"

namespace splitnic::conformance {

using fabric::Init;

std::optional<Init> reply_to_hello(Host& h, const Init& hello) {
  h.send(hello);
  const auto reply = h.await_init("a reply to HELLO");
  if (!reply || !h.expect(reply->echo == hello.nonce, "a reply that echoes the nonce")) return {};
  return reply;
}

void expect_probe_reply(End& end) {
  const Init probe = end.init(fabric::InitStep::kProbe);
  end.send(probe);
  const auto reply = end.await(EventKind::kProbe, "PROBE_REPLY");
  if (reply) end.expect(reply->init.echo == probe.nonce, "the nonce of the probe");
}

void expect_idle(End& end) {
  constexpr base::Duration kIdleMax = std::chrono::milliseconds(700);
  const std::size_t before = end.idles();
  end.listen(kIdleMax);
  end.expect(end.idles() > before, "IDLE within 700 ms");
}

}  // namespace splitnic::conformance
