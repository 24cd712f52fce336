#include "conformance/cases/link_parts.h"

#include "conformance/cases/spacing.h"

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
  using namespace std::chrono_literals;
  constexpr base::Duration kSpacingMax = 400ms;  // twice that of the clause
  constexpr base::Duration kIdleMax = 900ms;     // then the link would be silent
  constexpr base::Duration kLook = 5ms;
  constexpr unsigned kIdles = 6;
  const auto await_idle = [&] {
    const std::size_t before = end.inbox().idles();
    const base::Time until = end.now() + kIdleMax;
    while (end.is_good() && end.inbox().idles() == before && end.now() < until) end.listen(kLook);
    return end.expect(end.inbox().idles() > before, "IDLE within 900 ms");
  };
  const auto spacing = median_spacing(end, kIdles, await_idle);
  if (spacing) end.expect(*spacing <= kSpacingMax, "IDLE every 200 ms, or twice that");
}

}  // namespace splitnic::conformance
