// The end of a link of the full profile, and what it begins with at the next INIT.
// docs/protocol/flit.md#clauses-of-the-full-profile
#include <algorithm>
#include <iterator>
#include <string>

#include "conformance/case.h"
#include "conformance/cases/lane_parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::FlitType;
using fabric::Init;
using fabric::InitStep;

constexpr base::Duration kDown = 1200ms;   // of a silence: P-LINK-33 has 905 ms
constexpr std::uint32_t kFewerBlocks = 4;  // than the first cell of a reply has
constexpr base::Duration kUpFor = 2500ms;  // of a HELLO that comes as late as P-INIT-3 has it, two
constexpr int kSpansMax = 3;

// The lanes of a link begin once more: at a listener by HELLO, whose end is UP, at a host by the
// HELLO that it sends when its link is down.
bool restart_lanes(Host& h) { return link_again(h); }
bool restart_lanes(Unit& u) {
  begin_silence(u);
  u.listen(kDown);
  if (!link_again(u)) return false;
  set_speaking(u, true);
  return u.is_good();
}

// A reply of which a part has left, and the rest waits for credits. The next INIT grants other
// ones.
template <class Player>
void restart_in_a_reply(Player& h) {
  const auto context = h.next_context();
  if (!begin_reply(h, context)) return;
  h.terms.granted_blocks = kFewerBlocks;
  if (!restart_lanes(h)) return;
  wait_until(h, [&] { return h.lanes().first_seen().has_value(); });
  h.expect(h.lanes().first_seen() == h.lanes().first_expected(),
           "a first flit with the number of the new INIT");
  h.listen(kLaneQuiet);
  if (!h.expect(!h.inbox().has_message(context), "no reply that is longer than the new credits"))
    return;
  h.lanes().grants = true;
  grant_all(h, kManyBlocks);
  await_reply(h, context);
  expect_serving(h, "the connection of before");
}

// `prefix`: of the names of the cases of a host.
template <class Player>
void add_ends(GroupOf<Player>& group, const std::string& prefix) {
  group.add(prefix + "silence", "P-LINK-34",
            "A link on which nothing comes is down until the next INIT; its connection serves on.",
            [](Player& h) {
              if (!h.attach()) return;
              begin_silence(h);
              h.listen(kDown);
              h.send_flit(h.lanes().control(FlitType::kIdle), {});
              const std::size_t heard = h.lanes().heard();
              h.listen(kLaneQuiet);
              h.expect(h.lanes().heard() == heard, "nothing but INIT on a link that is down");
              if (!link_again(h)) return;
              set_speaking(h, true);
              expect_serving(h, "the connection of before");
            });
  group.add(prefix + "restart", "P-LINK-34",
            "The next INIT begins with empty queues, its own numbers and its own credits, and the "
            "connection retransmits what was in flight.",
            [](Player& h) { restart_in_a_reply(h); });
}

// This HELLO gets a reply of this step, which is `expected`, and the lanes of the link continue.
void expect_reply(Host& h, const Init& hello, InitStep step, const std::string& expected) {
  h.send(hello);
  const auto reply = h.await_init(expected);
  if (!reply) return;
  h.expect(reply->step == step && reply->echo == hello.nonce, expected + " that echoes the nonce");
  expect_serving(h, "a reply on the lanes of the link");
}

void add_listener(Group& group) {
  group.add("ready_repeated", "P-LINK-34",
            "HELLO with the nonce of the link gets READY once more, and the lanes continue.",
            [](Host& h) {
              if (!h.attach()) return;
              const Init hello = h.init(InitStep::kHello);
              for (int i = 0; i < 2 && h.is_good(); ++i) {
                expect_reply(h, hello, InitStep::kReady, "READY");
              }
            });
  group.add("late_hello", "P-INIT-10",
            "A HELLO that names no instance of the target gets CHALLENGE on a link that is UP, and "
            "the lanes continue.",
            [](Host& h) {
              if (!h.attach()) return;
              Init hello = h.init(InitStep::kHello);
              hello.peer_instance = 0;
              expect_reply(h, hello, InitStep::kChallenge, "CHALLENGE");
            });
}

// A host that waits for a processor may have a link that is down: any of some spans will do.
void add_client(UnitGroup& group) {
  group.add(
      "host_no_hello", "P-LINK-34", "A host sends no HELLO while its link is UP.", [](Unit& u) {
        if (!u.attach()) return;
        bool is_quiet = false;
        for (int i = 0; i < kSpansMax && u.is_good() && !is_quiet; ++i) {
          const auto seen = static_cast<std::ptrdiff_t>(u.inits().size());
          u.listen(kUpFor);
          is_quiet =
              std::none_of(u.inits().begin() + seen, u.inits().end(),
                           [](const SeenInit& one) { return one.init.step == InitStep::kHello; });
        }
        u.expect(is_quiet, "no HELLO for 2.5 s");
        expect_serving(u, "a link that is UP");
      });
}

}  // namespace

std::vector<Case> lane_restart_cases() {
  Group of_host("lane");
  add_ends(of_host, "");
  add_listener(of_host);
  UnitGroup of_unit("lane");
  add_ends(of_unit, "host_");
  add_client(of_unit);
  std::vector<Case> all = of_host.take(Profiles::kFull);
  std::vector<Case> more = of_unit.take(Profiles::kFull);
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

}  // namespace splitnic::conformance
