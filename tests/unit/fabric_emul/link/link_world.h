// Ports over an in-process hub, their observers, and time moved by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/endian.h"
#include "base/random.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "tests/support/fault_underlay.h"

namespace splitnic::fabric::link_world {

using namespace std::chrono_literals;

struct Watch final : LinkObserver {
  std::vector<std::string> events;
  Link* link = nullptr;
  std::uint64_t restarted_instance = 0;
  bool was_up_at_restart = true;
  void on_link_up(Link& l) override {
    link = &l;
    events.emplace_back("up");
  }
  void on_link_down(Link& l, std::string_view why) override {
    link = &l;
    events.push_back("down: " + std::string(why));
  }
  void on_peer_restarted(Link& l) override {
    restarted_instance = l.peer_instance();
    was_up_at_restart = l.up();
    events.emplace_back("restarted");
  }
  void on_path_narrowed(Link&) override { events.emplace_back("narrowed"); }
  void on_duplicate(Link&, std::string_view) override { events.emplace_back("duplicate"); }
  void on_refused(Link&, InitReason reason) override {
    events.push_back("refused: " + std::string(name(reason)));
  }
};

using Cells = std::vector<std::vector<std::byte>>;

// One end: a port, its observer, and the cells that it received.
struct End {
  base::SeededRandom random;
  Watch watch;
  Port port;
  Cells cells;
  std::vector<std::size_t> batches;  // cells of each callback

  End(Underlay& underlay, const PortConfig& config)
      : random(config.instance * 77), port(underlay, config, random, watch) {}
  bool receive(base::Time now) {
    return port.receive(now, 16, [this](Link&, std::span<const ReceivedCell> got) {
      batches.push_back(got.size());
      for (const ReceivedCell& cell : got) cells.emplace_back(cell.bytes.begin(), cell.bytes.end());
    });
  }
  // An iteration of the node's loop. Returns true if a datagram came.
  bool step(base::Time now) {
    port.on_time(now);
    const bool made_progress = receive(now);
    port.flush(now);
    return made_progress;
  }
  std::uint64_t count(LinkCounter which) const { return port.counters()[which]; }
  Link& link() { return *watch.link; }
};

inline PortConfig config_of(std::uint64_t eui64, std::uint64_t instance, bool listens = false) {
  PortConfig config;
  config.eui64 = Eui64(eui64);
  config.instance = instance;
  config.listens = listens;
  return config;
}

inline PortConfig with_profile(PortConfig config, LinkProfile profile) {
  config.profile = profile;
  if (profile == LinkProfile::kFull) config.full = full_between_processes();
  return config;
}

// A cell as far as the link cares: some bytes.
inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> cell(bytes);
  for (std::size_t i = 0; i < bytes; ++i) cell[i] = static_cast<std::byte>((i * 7 + seed) & 0xFF);
  return cell;
}

inline bool write(Link& link, const std::vector<std::byte>& cell, std::uint8_t vl = 0) {
  const base::MutableBytes room = link.reserve(cell.size(), vl);
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  link.commit(cell.size());
  return true;
}

inline Init hello_of(std::uint64_t eui64, std::uint64_t instance) {
  Init init;
  init.step = InitStep::kHello;
  init.program_version = 0x00010000;
  init.lanes_mask = 0x800F;
  init.mcp_max = 1364;
  init.flit_payload_max = 1420;
  init.eui64 = Eui64(eui64);
  init.instance = instance;
  init.nonce = 5;
  return init;
}

// Appends one INIT flit.
inline void append_init(std::vector<std::byte>& datagram, const Init& init, std::uint8_t ctl = 0) {
  std::array<std::byte, kInitBytes> payload;
  emit_init(payload.data(), init);
  std::array<std::byte, kFlitHeaderBytes + kInitBytes> flit;
  FlitHeader header;
  header.type = FlitType::kInit;
  header.vl = kMgmtLane;
  header.ctl = ctl;
  emit_flit(flit, header, payload);
  datagram.insert(datagram.end(), flit.begin(), flit.end());
}

// Sends one INIT flit from any endpoint, as an attacker or an old program does.
inline void send_init(Underlay& from, const PeerAddress& to, const Init& init,
                      std::uint8_t ctl = 0) {
  std::vector<std::byte> flit;
  append_init(flit, init, ctl);
  EXPECT_EQ(from.send(to, flit, flit.size()), Underlay::SendStatus::kSent);
}

// Calls iterate() until it returns false, then advances the clock by `step`; ends when `time` has
// passed.
template <class Iterate>
void run_for(base::ManualClock& clock, base::Duration time, Iterate&& iterate,
             base::Duration step = 10ms) {
  for (const base::Time end = clock.now() + time; clock.now() < end; clock.advance(step)) {
    while (iterate()) {
    }
  }
}

// A listening end and one client, each behind a fault decorator.
struct World {
  explicit World(const InProcessConfig& config = {},
                 PortConfig listener = config_of(0xA, 100, true),
                 PortConfig client = config_of(0xB, 200))
      : hub(config),
        listener_at(hub.add_endpoint()),
        client_at(hub.add_endpoint()),
        listener_faults(listener_at, random, clock),
        client_faults(client_at, random, clock),
        a(std::make_unique<End>(listener_faults, listener)),
        b(std::make_unique<End>(client_faults, client)) {}

  void pump() {
    for (bool made_progress = true; made_progress;) {
      a->port.flush(clock.now());
      b->port.flush(clock.now());
      made_progress = a->receive(clock.now());
      made_progress = b->receive(clock.now()) || made_progress;
    }
  }
  // Lets time pass in steps of at most `step`, as far as deadlines allow.
  void run(base::Duration time, base::Duration step = 10ms) {
    const base::Time end = clock.now() + time;
    while (clock.now() < end) {
      clock.advance(std::min<base::Duration>(step, end - clock.now()));
      a->port.on_time(clock.now());
      b->port.on_time(clock.now());
      pump();
    }
  }
  void connect() {
    b->port.connect(listener_at.address(), clock.now());
    pump();
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  InProcessUnderlay& listener_at;
  InProcessUnderlay& client_at;
  FaultUnderlay listener_faults, client_faults;
  std::unique_ptr<End> a, b;
};

// A listener with room for one link, which the client of the world has, and another client.
struct FullListener : World {
  FullListener() : World({}, one_link()), other(hub.add_endpoint(), config_of(0xC, 300)) {
    connect();
    other.port.connect(listener_at.address(), clock.now());
    exchange();
  }
  void exchange() {
    for (int i = 0; i < 3; ++i) {
      pump();
      other.receive(clock.now());
    }
  }
  static PortConfig one_link() {
    PortConfig config = config_of(0xA, 100, true);
    config.links_max = 1;
    return config;
  }

  End other;
};

}  // namespace splitnic::fabric::link_world
