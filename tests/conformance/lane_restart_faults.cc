// Wrong implementations of what a link of the full profile begins with at an INIT: I/O units and a
// host.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::FlitHeader;
using fabric::FlitType;
using fabric::Init;
using fabric::InitStep;

// The READY of the target for one process of the suite.
struct Readies {
  std::uint64_t instance = 0, echo = 0;
  unsigned restarts = 0;     // INITs of the same process
  unsigned repetitions = 0;  // of a READY
  bool is_first = false;     // no DATA flit has left since the last one

  void on(const Init& ready) {
    if (ready.peer_instance != instance)
      *this = {.instance = ready.peer_instance};
    else if (ready.echo == echo)
      ++repetitions;
    else
      ++restarts;
    echo = ready.echo;
    is_first = true;
  }
};

// DATA flits of the target on data lanes, and what READYs it has sent before.
using ChangeSent = std::function<void(Readies& readies, FlitHeader& header)>;
Fault of_sent(const std::string& name, const std::string& what, const std::string& noticed_by,
              const ChangeSent& change) {
  return {.name = "lane_" + name,
          .what = what,
          .noticed_by = "lane." + noticed_by,
          .make =
              [change] {
                const auto readies = std::make_shared<Readies>();
                return both(init_rule(To::kSuite,
                                      [readies](const Init& init) {
                                        if (init.step == InitStep::kReady) readies->on(init);
                                        return true;
                                      }),
                            flit_rule(To::kSuite, [readies, change](FlitHeader& header, RelayBytes&,
                                                                    RelayBytes&) {
                              if (header.vl != fabric::kMgmtLane) {
                                change(*readies, header);
                                readies->is_first = false;
                              }
                              return true;
                            }));
              },
          .is_full = true};
}

// The credits of the first INIT of each process hold for all.
Rule credits_of_the_first() {
  struct First {
    std::uint64_t instance = 0;
    std::uint32_t credit = 0;
  };
  return init_rule(To::kTarget, [first = std::make_shared<First>()](Init& init) {
    if (init.step != InitStep::kHello && init.step != InitStep::kAnswer) return true;
    if (init.instance != first->instance) *first = {init.instance, init.initial_credit};
    init.initial_credit = first->credit;
    return true;
  });
}

// A HELLO of a peer that is known counts as one that names the target.
Rule takes_late_hello() {
  const auto ready = std::make_shared<Init>();
  return both(init_rule(To::kSuite,
                        [ready](const Init& init) {
                          if (init.step == InitStep::kReady) *ready = init;
                          return true;
                        }),
              init_rule(To::kTarget, [ready](Init& init) {
                if (init.step == InitStep::kHello && init.peer_instance == 0 &&
                    init.instance == ready->peer_instance) {
                  init.peer_instance = ready->instance;
                }
                return true;
              }));
}

// In place of each hundredth IDLE, once per second, with the nonce of the link, which has no
// effect.
Rule hello_while_up() {
  struct Sent {
    std::optional<Init> init{};
    unsigned idles = 0;
  };
  const auto last = std::make_shared<Sent>();
  return both(init_rule(To::kSuite,
                        [last](const Init& init) {
                          if (init.step == InitStep::kHello || init.step == InitStep::kAnswer) {
                            last->init = init;
                          }
                          return true;
                        }),
              [last](To to, RelayBytes& datagram) {
                fabric::FlitView flit;
                if (to != To::kSuite || !last->init ||
                    fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
                    flit.header.type != FlitType::kIdle || ++last->idles % 100 != 0) {
                  return true;
                }
                Init hello = *last->init;
                hello.step = InitStep::kHello;
                hello.echo = 0;
                std::array<std::byte, fabric::kInitBytes> payload{};
                fabric::emit_init(payload.data(), hello);
                datagram = flit_of({.type = FlitType::kInit, .vl = fabric::kMgmtLane}, payload);
                return true;
              });
}

}  // namespace

std::vector<Fault> lane_restart_faults() {
  return {
      of_sent("numbers_of_before", "at an INIT the numbers of flits continue", "restart",
              [](const Readies& readies, FlitHeader& header) {
                if (readies.restarts > 0) header.lsn = header.lsn + 7U;
              }),
      of_sent("queue_of_before", "at an INIT the rest of a cell stays in its queue", "restart",
              [](const Readies& readies, FlitHeader& header) {
                if (readies.restarts > 0 && readies.is_first) {
                  header.ctl = static_cast<std::uint8_t>(header.ctl & ~unsigned{fabric::kFlitSof});
                }
              }),
      {.name = "lane_credits_of_before",
       .what = "at an INIT the credits of the one before hold",
       .noticed_by = "lane.restart",
       .make = credits_of_the_first,
       .is_full = true},
      of_sent("ready_restarts", "a HELLO that is repeated begins the lanes once more",
              "ready_repeated",
              [](const Readies& readies, FlitHeader& header) {
                if (readies.repetitions > 0) header.lsn = header.lsn + 7U;
              }),
      {.name = "lane_late_hello",
       .what = "a HELLO that comes late gets READY",
       .noticed_by = "lane.late_hello",
       .make = takes_late_hello,
       .is_full = true},
      {.name = "host_lane_hello",
       .what = "HELLO is sent while the link is UP",
       .noticed_by = "lane.host_no_hello",
       .make = hello_while_up,
       .role = Role::kUnit,
       .is_full = true},
  };
}

}  // namespace splitnic::conformance
