// Time that an I/O unit spends on what a host with bad intentions sends, next to what it spends on
// a frame of 60 bytes of any host: work that a datagram causes must not be much more than that. One
// thread, no socket; only the steps of the unit are measured. Asserts nothing. [M-2]
//   attack_bench [WAY]     one of the ways alone: the beginning of its line
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/support/cpu_time.h"
#include "tests/support/lying_peer.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou {
namespace {

using namespace std::chrono_literals;
using harness::mac_number;
namespace cfg = messaging::cfg;
using messaging::CfgCode;

constexpr std::size_t kActs = 4000;
constexpr auto kPause = 20us;  // of the unit's time between two acts
constexpr std::size_t kMessageMax = 4096;

class Attack {
 public:
  Attack() : random_(3), end_(unit_.hub.add_endpoint()), peer_(end_, {.eui64 = kEui64}, random_) {
    honest_ = &unit_.add_host();
    CHECK(unit_.attach(*honest_, mac_number(1)));
    peer_.join(unit_.address(), unit_.clock.now());
    settle();
    CHECK(peer_.has_link());
    reconnect();
  }

  // Microseconds of the unit, and its datagrams, for each act of the hostile host.
  struct Cost {
    double microseconds = 0;
    double datagrams = 0;
  };
  Cost measure(const std::function<void(std::size_t)>& act) {
    for (std::size_t i = 0; i < kActs / 10; ++i) one(i, act);
    nanoseconds_ = 0;
    const std::uint64_t before = unit_.count("link.rx.datagram");
    for (std::size_t i = 0; i < kActs; ++i) one(i, act);
    const auto seen = static_cast<double>(unit_.count("link.rx.datagram") - before);
    return {nanoseconds_ / 1e3 / kActs, seen / kActs};
  }

  void frame(std::size_t i) {
    const auto to_lan =
        harness::frame_of(harness::kPeer, mac_number(1), static_cast<std::uint32_t>(i), 0, 60);
    static_cast<void>(honest_->push(to_lan));
  }
  void request(CfgCode code, const std::string& data) {
    std::array<std::byte, kMessageMax> out;
    const messaging::CfgUtilRequest message{messaging::TransactionContext(++context_), code,
                                            base::as_bytes(data)};
    send(base::Bytes(out).first(message.emit(out)));
  }
  void filter(std::size_t i) {
    cfg::SetFilterRequest wanted;
    for (std::uint8_t n = 0; n < 16; ++n) {
      const lan::MacAddress mac{0x02, 0, static_cast<std::uint8_t>(i), 7, 7, n};
      wanted.mutable_filter()->add_unicast(harness::bytes(mac));
    }
    request(CfgCode::kSetFilter, wanted.SerializeAsString());
  }
  void mtu(std::size_t i) {
    cfg::SetMtuRequest wanted;
    wanted.set_mtu(1400 + static_cast<std::uint32_t>(i % 100));
    request(CfgCode::kSetMtu, wanted.SerializeAsString());
  }
  // 127 records that name one pool, or pools that do not exist.
  void pools(std::size_t i) {
    std::vector<messaging::PoolRecord> records(127);
    for (std::size_t n = 0; n < records.size(); ++n) {
      records[n] = {messaging::PoolRef(static_cast<std::uint32_t>(100 + (i + n) % 256)),
                    8,
                    2048,
                    fabric::MemoryHandle(static_cast<std::uint32_t>(n)),
                    fabric::VirtualAddress(n << 20U),
                    0};
    }
    std::array<std::byte, messaging::BufferRecvPool::bytes(127)> message;
    messaging::BufferRecvPool::emit(messaging::kUnsolicited, records, message);
    send(message);
  }
  void reconnect() {
    peer_.connect(unit_.clock.now());
    settle();
  }
  void put(std::size_t bytes) {
    std::vector<std::byte> datagram(bytes);
    for (std::byte& b : datagram) b = static_cast<std::byte>(random_.next32() >> 24U);
    end_.send(unit_.address(), datagram, datagram.size());
  }

 private:
  static constexpr fabric::Eui64 kEui64{0x30};

  void send(base::Bytes message) {
    if (!peer_.is_connected()) reconnect();
    static_cast<void>(peer_.send(0, message));
  }
  void one(std::size_t i, const std::function<void(std::size_t)>& act) {
    act(i);
    for (int rounds = 0; rounds < 4; ++rounds) round();
    unit_.clock.advance(kPause);
    honest_->got.clear();
    unit_.written[0].clear();
  }
  void round() {
    const double begin = support::cpu_nanoseconds();
    const bool has_worked = unit_.unit->step(unit_.clock.now(), true);
    if (has_worked) nanoseconds_ += support::cpu_nanoseconds() - begin;
    peer_.step(unit_.clock.now());
    honest_->step();
  }
  void settle() {
    for (int i = 0; i < 2000 && !(peer_.has_link() && peer_.is_connected()); ++i) {
      round();
      unit_.clock.advance(100us);
    }
  }

  harness::UnitHarness unit_{{.policy = {.mtu_follows = true}}};
  base::SeededRandom random_;
  fabric::InProcessUnderlay& end_;
  support::LyingPeer peer_;
  harness::TestHost* honest_ = nullptr;
  std::uint64_t context_ = 0;
  double nanoseconds_ = 0;
};

void print(const char* what, const Attack::Cost& cost, double frame) {
  std::printf("%-52s %8.2f us, %5.2f datagrams, %6.1f frames\n", what, cost.microseconds,
              cost.datagrams, cost.microseconds / frame);
}

void run(std::string_view only) {
  Attack attack;
  const Attack::Cost frame = attack.measure([&](std::size_t i) { attack.frame(i); });
  const auto show = [&](const char* what, const std::function<void(std::size_t)>& act) {
    if (!std::string_view(what).starts_with(only)) return;
    print(what, attack.measure(act), frame.microseconds);
  };
  print("a frame of 60 bytes to the LAN", frame, frame.microseconds);
  show("GET_STATS beyond its rate", [&](std::size_t) { attack.request(CfgCode::kGetStats, {}); });
  show("SET_FILTER of 16 addresses beyond its rate", [&](std::size_t i) { attack.filter(i); });
  show("SET_MTU beyond its rate, the NIC follows", [&](std::size_t i) { attack.mtu(i); });
  show("ECHO of 1000 bytes",
       [&](std::size_t) { attack.request(CfgCode::kEcho, std::string(1000, 'x')); });
  show("127 pools, which end the connection", [&](std::size_t i) { attack.pools(i); });
  show("a new connection beyond its rate", [&](std::size_t) { attack.reconnect(); });
  show("1400 bytes of any content", [&](std::size_t) { attack.put(1400); });
}

}  // namespace
}  // namespace splitnic::iou

int main(int argc, char** argv) {
  splitnic::base::set_log_level("error");
  splitnic::iou::run(argc > 1 ? argv[1] : "");
}
