// Edges of the state tables that the cases of the other groups do not pass: ends of connections,
// and silence. docs/protocol/states.json
#include <algorithm>
#include <iterator>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cases/spacing.h"
#include "conformance/expectations.h"
#include "conformance/limits.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::InitStep;
using fabric::MgmtKind;

constexpr base::Duration kDiscEvery = 100ms;
constexpr base::Duration kNoDisc = 250ms;
constexpr base::Duration kCrossing = 20ms;  // of a DISC that was sent before the reply
constexpr base::Duration kIdleAgain = 50ms;
constexpr base::Duration kTriesMin = 4500ms;  // 5 s, with room for the clock of the target
constexpr base::Duration kTriesTime = 9s;
constexpr int kTries = 7;

std::function<bool(const Event&)> is_of(MgmtKind kind, std::uint64_t transaction) {
  return [=](const Event& e) {
    return e.kind == EventKind::kMgmt && e.mgmt.kind == kind && e.mgmt.transaction == transaction;
  };
}

void expect_no_disc(End& h, std::string_view expected) {
  h.listen(kNoDisc);
  h.expect(std::ranges::none_of(h.inbox().events(), is_of(MgmtKind::kDisc, h.transaction())),
           expected);
}

void add_closing(SharedGroup& group) {
  group.add_harmful(
      "disc_ten_times", "P-CM-11",
      "DISC without a reply is sent ten times, 100 ms apart, and then the connection is gone.",
      [](End& h) {
        if (!h.attach() || !provoke_disc(h)) return;
        const auto spacing = median_spacing(h, kDiscsMax - 1, [&h] {
          return h.await_if(is_of(MgmtKind::kDisc, h.transaction()), "ten DISC").has_value();
        });
        if (!spacing) return;
        h.expect(*spacing >= kDiscEvery / 2 && *spacing <= kDiscEvery * 2,
                 "100 ms between two, or half to twice that");
        expect_no_disc(h, "no DISC after the tenth");
      });
  group.add_harmful("disc_replied", "P-CM-11", "After DISC_REP no DISC is sent.", [](End& h) {
    if (!h.attach() || !provoke_disc(h)) return;
    h.send(h.mgmt(MgmtKind::kDiscRep, h.transaction()));
    h.listen(kCrossing);
    h.inbox().forget();
    expect_no_disc(h, "no DISC after DISC_REP");
  });
  group.add_harmful("disc_crosses", "P-CM-11", "Two DISC that cross: each gets DISC_REP.",
                    [](End& h) {
                      if (!h.attach() || !provoke_disc(h)) return;
                      h.send(h.mgmt(MgmtKind::kDisc, h.transaction()));
                      if (!h.await_if(is_of(MgmtKind::kDiscRep, h.transaction()), "DISC_REP"))
                        return;
                      h.inbox().forget();
                      expect_no_disc(h, "no DISC after the peer's");
                    });
  group.add_harmful(
      "closing_drops", "P-CM-1",
      "A connection that ends takes no CONNECT_REQ, CONNECT_REP or CONNECT_REJ.", [](End& h) {
        if (!h.attach() || !provoke_disc(h)) return;
        const std::string mine = capabilities_of(h.terms);
        for (const MgmtKind kind :
             {MgmtKind::kConnectReq, MgmtKind::kConnectRep, MgmtKind::kConnectRej}) {
          fabric::Mgmt m = h.mgmt(kind, h.transaction());
          if (kind == MgmtKind::kConnectRej) {
            m.reject = fabric::MgmtReject::kRefused;
          } else {
            h.describe(m, mine);
          }
          h.send(m);
          const auto next = h.await_if(
              [&h](const Event& e) {
                return e.kind == EventKind::kMgmt && e.mgmt.transaction == h.transaction();
              },
              "DISC once more");
          if (next) h.expect(next->mgmt.kind == MgmtKind::kDisc, "no reply but DISC");
        }
        h.send(h.mgmt(MgmtKind::kDiscRep, h.transaction()));
      });
}

void add_tries(SharedGroup& group) {
  group.add_harmful(
      "tries", "P-RC-9,P-CH-13",
      "A cell that is never acknowledged is sent once more seven times at least, and ends the "
      "connection, after 5 s at least.",
      [](End& h) {
        if (!h.attach()) return;
        h.habits.acknowledges = false;
        h.inbox().forget();
        const fabric::Lcn first = h.channel(0).expected_lcn;
        const auto context = h.next_context();
        send_message(h, echo_message(context, 8));
        if (!await_reply(h, context)) return;
        const base::Time at = h.now();
        const auto disc = h.await_if(is_of(MgmtKind::kDisc, h.transaction()), "DISC", kTriesTime);
        if (!disc || !h.expect(h.now() - at >= kTriesMin, "5 s before it")) return;
        h.expect(std::ranges::count(h.inbox().retransmitted(), first) >= kTries,
                 "seven retransmissions before it");
      });
}

void add_silence(Group& group) {
  const auto add_idle = [&](const std::string& name, const std::string& clause,
                            const std::string& description, std::uint8_t vl) {
    group
        .add(name, clause, description,
             [vl](Host& h) {
               if (!h.attach() || !silence(h)) return;
               // Only what ends the silence is sent until the target sends IDLE once more.
               const std::size_t idles = h.inbox().idles();
               const base::Time until = h.now() + std::max<base::Duration>(h.config().timeout, 2s);
               while (h.is_good() && h.inbox().idles() == idles && h.now() < until) {
                 h.send_flit(
                     {.type = fabric::FlitType::kIdle, .vl = vl, .ctl = fabric::kFlitHeaderCrcOnly},
                     {});
                 h.listen(kIdleAgain);
               }
               h.expect(h.inbox().idles() > idles, "IDLE on a link that is up again");
               h.habits.keeps_alive = true;
               expect_ignored(h, "the connection of before");
             })
        .profiles = Profiles::kWholeCells;
  };
  add_idle("silence_then_idle", "P-LINK-6,P-LINK-14", "A valid flit ends the silence of a link.",
           fabric::kMgmtLane);
  add_idle("silence_then_idle_on_lane_2", "P-LINK-9", "So does IDLE on another lane.", 2);
  group.add("silence_then_hello", "P-INIT-10,P-RC-27",
            "HELLO of the same instance ends the silence of a link, and its connection serves.",
            [](Host& h) {
              if (!h.attach() || !silence(h)) return;
              h.send(h.init(InitStep::kHello));
              const auto reply = h.await_init("READY");
              if (!reply || !h.expect(reply->step == InitStep::kReady, "READY")) return;
              h.habits.keeps_alive = true;
              expect_ignored(h, "the connection of before");
            });
  group.add("silence_then_bye", "P-INIT-15", "BYE ends a silent link too.", [](Host& h) {
    if (!h.attach() || !silence(h)) return;
    h.send(h.init(InitStep::kBye));
    send_request(h, h.next_context(), messaging::CfgCode::kEcho, {});
    h.send(h.init(InitStep::kHello));
    const auto reply = h.await_init("READY");
    if (reply) h.expect(reply->step == InitStep::kReady, "READY: the instance is known");
    h.expect(h.inbox().waiting(EventKind::kAck) == 0, "no ACK of a cell behind BYE");
  });
  group.add("silence_then_another_instance", "P-INIT-8,P-ERR-9",
            "A new instance ends the connections of a silent one.", [](Host& h) {
              if (!h.attach() || !silence(h)) return;
              h.begin_instance(h.config().instance ^ 0x100);
              if (!h.link()) return;
              h.habits.keeps_alive = true;
              h.inbox().forget();
              expect_unserved(h, "no reply on a connection of the instance before");
            });
  group.add_harmful("restart_when_closing", "P-INIT-8",
                    "A new instance ends a connection whose DISC has no reply yet.", [](Host& h) {
                      if (!h.attach() || !provoke_disc(h)) return;
                      h.begin_instance(h.config().instance ^ 0x100);
                      if (!h.link()) return;
                      h.inbox().forget();
                      expect_no_disc(h, "no DISC of the instance before");
                    });
}

}  // namespace

std::vector<Case> state_cases() {
  SharedGroup shared("state");
  add_closing(shared);
  add_tries(shared);
  Group group("state");
  add_silence(group);
  std::vector<Case> all = shared.take();
  std::vector<Case> some = group.take();
  std::move(some.begin(), some.end(), std::back_inserter(all));
  return all;
}

}  // namespace splitnic::conformance
