// Edges of the state tables, with a host as the target. docs/protocol/states.json
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "conformance/pools.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::MgmtKind;

constexpr base::Duration kAfterBye = 400ms;
constexpr base::Duration kConnectRetryMin = 80ms;  // 100 ms, with room for the clock of the target

void idle(Unit& u) {
  u.send_flit(
      {.type = fabric::FlitType::kIdle, .vl = fabric::kMgmtLane, .ctl = fabric::kFlitHeaderCrcOnly},
      {});
}

bool silent_host(Unit& u) {
  if (!u.attach()) return false;
  u.replies_to_hello = false;
  return silence(u);
}

// The suite is another instance, without BYE, and has a new connection. CONNECT_REQ of the link
// before may have come in the meantime.
bool restart(Unit& u) {
  u.begin_instance();
  if (!u.await_link()) return false;
  u.inbox().forget();
  return u.connect();
}

void expect_new_connection(Unit& u) {
  u.habits.keeps_alive = u.replies_to_hello = true;
  if (u.connect()) expect_serving(u, "a connection that serves");
}

void add_silence(UnitGroup& group) {
  group
      .add("host_silence_then_idle", "P-LINK-6", "A valid flit ends the silence of a link.",
           [](Unit& u) {
             if (!silent_host(u)) return;
             u.habits.keeps_alive = true;
             idle(u);
             expect_ignored(u, "the connection of before");
           })
      .profiles = Profiles::kWholeCells;
  group.add("host_silence_then_ready", "P-INIT-9",
            "READY of the same instance ends the silence of a link, and its connection serves.",
            [](Unit& u) {
              if (!silent_host(u)) return;
              u.replies_to_hello = true;
              u.await_seen(fabric::InitStep::kHello, u.inits().size(), "HELLO");
              u.habits.keeps_alive = true;
              expect_ignored(u, "the connection of before");
            });
  group.add("host_silence_then_bye", "P-INIT-15", "BYE ends a silent link too.", [](Unit& u) {
    if (!silent_host(u)) return;
    u.end_link();
    idle(u);
    const std::size_t idles = u.inbox().idles();
    u.listen(kAfterBye);
    u.expect(u.inbox().idles() == idles, "nothing but INIT behind BYE");
    expect_new_connection(u);
  });
  group.add("host_silence_then_another_instance", "P-INIT-11",
            "READY of another instance ends a silent link, and a new connection serves.",
            [](Unit& u) {
              if (!silent_host(u)) return;
              u.begin_instance();
              expect_new_connection(u);
            });
}

void add_state_requests(UnitGroup& group) {
  group.add("disc_of_a_request", "P-CM-11", "DISC ends a CONNECT_REQ that has no reply yet.",
            [](Unit& u) {
              if (!u.await_link()) return;
              const auto request = u.await_request();
              if (!request) return;
              u.send(u.mgmt(MgmtKind::kDisc, request->mgmt.transaction));
              u.await_if(
                  [](const Event& e) {
                    return e.kind == EventKind::kMgmt && e.mgmt.kind == MgmtKind::kDiscRep;
                  },
                  "DISC_REP");
              u.inbox().forget();
              const auto next = u.await_request("another CONNECT_REQ");
              if (!next) return;
              u.expect(next->mgmt.transaction != request->mgmt.transaction, "a new transaction");
            });
  group.add("restart_of_a_request", "P-INIT-11",
            "READY of another instance ends a CONNECT_REQ that has no reply yet.", [](Unit& u) {
              if (!u.await_link()) return;
              const auto request = u.await_request();
              if (!request) return;
              if (!restart(u)) return;
              u.expect(u.transaction() != request->mgmt.transaction, "a new transaction");
              expect_serving(u, "a connection that serves");
            });
  group.add_harmful(
      "host_restart_when_closing", "P-INIT-11",
      "READY of another instance ends a connection whose DISC has no reply yet.", [](Unit& u) {
        if (!u.attach() || !provoke_disc(u)) return;
        if (!restart(u)) return;
        expect_serving(u, "a connection that serves");
        u.listen(kAfterBye);
        u.expect(u.inbox().waiting(EventKind::kMgmt) == 0, "no DISC of the one before");
      });
}

// The next CONNECT_REQ comes 100 ms after this time at least: it is recommended.
void expect_wait(Unit& u, base::Time at) {
  u.inbox().forget();
  const auto next = u.await_request("another CONNECT_REQ");
  if (!next) return;
  u.expect(u.now() - at >= kConnectRetryMin, "100 ms before it");
  // A connection, so that the next wait is short again.
  if (u.accept(next->mgmt, u.reply_of(next->mgmt)) && advertise(u)) {
    expect_serving(u, "a connection that serves");
  }
}

void add_waits(UnitGroup& group) {
  Case& refused = group.add("host_waits_when_refused", "P-CM-15",
                            "After CONNECT_REJ the host waits 100 ms at least.", [](Unit& u) {
                              if (!u.await_link()) return;
                              const auto request = u.await_request();
                              if (!request) return;
                              const base::Time at = u.now();
                              u.reject(request->mgmt, fabric::MgmtReject::kRefused, "no");
                              expect_wait(u, at);
                            });
  refused.level = Level::kShould;
  Case& ended =
      group.add("host_waits_when_ended", "P-ERR-8",
                "After DISC the host waits 100 ms at least and connects again.", [](Unit& u) {
                  if (!u.attach()) return;
                  const base::Time at = u.now();
                  u.send(u.mgmt(MgmtKind::kDisc, u.transaction()));
                  expect_wait(u, at);
                });
  ended.level = Level::kShould;
}

}  // namespace

std::vector<Case> host_state_cases() {
  UnitGroup group("state");
  add_silence(group);
  add_state_requests(group);
  add_waits(group);
  return group.take();
}

}  // namespace splitnic::conformance
