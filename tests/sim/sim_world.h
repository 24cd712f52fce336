// One host and one I/O unit, their fabric and their frames, in one thread with a manual clock and a
// seed. The same seed gives the same run: compare trace_hash(). docs/HACKING.md shows how to run
// one seed. A hostile host may be attached too: what is counted and compared is that of the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "host_module/host.h"
#include "iou_module/iou.h"
#include "tests/sim/fake_port.h"
#include "tests/sim/hostile_host.h"
#include "tests/sim/ledger.h"
#include "tests/sim/pool_canary.h"
#include "tests/support/fault_underlay.h"

namespace splitnic::sim {

enum class Hostility : std::uint8_t { kNone, kQuiet, kHostile };

struct WorldConfig {
  std::uint64_t seed = 1;
  fabric::FaultConfig faults{};  // both ways
  fabric::InProcessConfig path{
      .datagram_bytes_max = 1472, .batch_queue_max = 256, .drops_when_full = true};
  fabric::LinkProfile profile = fabric::LinkProfile::kSpeed;
  std::uint16_t cell_bytes = 0;  // --cell; 0: not given
  messaging::PairConfig host_pair{};
  messaging::PairConfig iou_pair{};
  std::function<std::vector<lan::LocalAddress>()> addresses{};  // of the host's interface
  base::Duration idle_release{};                                // of the host; 0: never
  std::uint32_t host_queue = 0;                                 // that the host is
  Hostility hostility = Hostility::kNone;  // kQuiet: a second host is attached, and does nothing
  bool is_keyed = false;                   // with a second host all have keys
};

class World {
 public:
  explicit World(const WorldConfig& config);
  ~World();

  // Both ends in turn until nothing moves, then the clock goes to the next deadline; at most `span`
  // of it.
  void run(base::Duration span);
  // Runs until done() or the span is over; true if done.
  template <class Done>
  bool run_until(base::Duration span, Done&& done) {
    const base::Time end = clock.now() + span;
    while (!done()) {
      if (clock.now() >= end) return false;
      iterate(end);
    }
    return true;
  }
  bool connected() const { return host->nic_up() && is_host_up(); }
  void set_faults(const fabric::FaultConfig& faults);
  void set_cut(bool cut);
  void set_datagram_bytes_max(std::size_t bytes) { hub_.set_datagram_bytes_max(bytes); }
  fabric::Adapter& host_adapter() { return *host_adapter_; }
  fabric::Adapter& iou_adapter() { return *iou_adapter_; }
  fabric::FaultUnderlay& host_path() { return *host_path_; }
  fabric::FaultUnderlay& iou_path() { return *iou_path_; }
  // REQUIRES keys.
  fabric::session::KeyedUnderlay& iou_sessions() { return *carrier_of_iou_; }
  // kill -9 and start again: nothing of the old process is left but its datagrams.
  void restart_host();
  void restart_iou();
  // SIGTERM and start again; `away` passes between the end of the old one and the new one.
  void restart_iou_cleanly(base::Duration away);
  std::uint64_t restarts() const { return restarts_; }

  // Frames to be read by a side's port; sizes as given.
  void send_to_lan(std::size_t bytes) { tap.queue(to_lan.make(bytes)); }
  void send_to_host(std::size_t bytes) { lan.queue(to_host.make(bytes)); }
  void mark() {
    to_lan.mark();
    to_host.mark();
  }
  bool all_arrived() const {
    return to_lan.all_arrived_since_mark() && to_host.all_arrived_since_mark();
  }
  bool quiet() const;
  // Every element of both sides is back where it belongs, and both sides agree on it. Empty: they
  // are.
  std::string pools_fault() const;
  bool pools_full() const { return pools_fault().empty(); }
  // All that a run must never show; the pools' memory only when it is quiet.
  std::vector<std::string> violations() const;
  std::uint64_t trace_hash() const;
  // Of both processes as they are now. REQUIRES a counter of that name.
  std::uint64_t counter(std::string_view name) const;

  const WorldConfig config;
  base::ManualClock clock;
  base::SeededRandom random;
  FakePort tap, lan;
  Ledger to_lan, to_host;
  std::vector<std::vector<std::byte>> announced;  // with config.addresses: all short frames
  std::unique_ptr<host::Host> host;
  std::unique_ptr<iou::Iou> iou;
  std::unique_ptr<HostileHost> hostile;  // null: there is none
  std::uint64_t hostile_frames = 0;      // that reached the LAN or the host
  std::uint64_t iterations = 0;

 private:
  struct Rights;

  void start_host();
  void start_iou();
  void start_hostile();
  bool take_hostile(base::Bytes frame);
  // The host's newest connection at the I/O unit, or nullptr.
  iou::AttachedHost* attached() const;
  bool is_host_up() const;
  void iterate(base::Time end);
  void watch_pairs();
  // Returns what the port of this end sends by, with new sessions if there are keys; for the host
  // also the address of the unit there.
  fabric::Underlay& carrier_of_unit();
  std::pair<fabric::Underlay*, fabric::PeerAddress> carrier_of_host();
  std::function<std::uint64_t()> next_stamp() {
    return [this] { return ++stamp_; };
  }
  // Counters that stay 0 whatever the path does; read before a process ends.
  void collect_forbidden();

  fabric::InProcessHub hub_;
  fabric::InProcessUnderlay* host_end_ = nullptr;
  fabric::InProcessUnderlay* iou_end_ = nullptr;
  fabric::InProcessUnderlay* hostile_end_ = nullptr;
  std::unique_ptr<fabric::FaultUnderlay> host_path_, iou_path_;
  std::unique_ptr<fabric::session::KeyedUnderlay> carrier_of_host_, carrier_of_iou_;
  const fabric::Eui64 host_eui64_;
  std::uint64_t stamp_ = 0;  // of the last handshake
  std::unique_ptr<Rights> rights_;
  std::unique_ptr<fabric::Adapter> host_adapter_, iou_adapter_;
  PoolCanary host_canary_, iou_canary_;
  std::vector<std::string> forbidden_;
  std::uint64_t restarts_ = 0;
  std::uint64_t idle_iterations_ = 0;  // in a row: a deadline that is due and nothing to do
  std::uint64_t hash_ = 0;
};

}  // namespace splitnic::sim
