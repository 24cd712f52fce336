// The forwarding core of a switch: cells come in by ports and leave by the port of their
// destination LID, byte for byte as they came; what changes per hop is in the flit. One cell
// at a time crosses to an output [S000-42]. An output that takes nothing now makes the inputs that
// feed it wait [S000-45]: they are not read until its queue is empty, and what their carriers hold
// meanwhile waits there, or is lost there if they lose (UDP). A stopped receiver holds up the
// others for kStallMax at most; then what waits for it is dropped.
//
// A node sends with its own LID only. Cells for the switch itself are MGMT: it resolves names.
// Sans-I/O, no allocation after add_port(). Thread: the data thread. docs/topology_file.md
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/switching/cell_queue.h"
#include "fabric_emul/switching/switch_counters.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {

class Switch final {
 public:
  static constexpr base::Duration kStallMax = std::chrono::milliseconds(100);

  struct PortView {
    std::uint8_t number;
    const SwitchPlan::Port& plan;
    const Link* link;  // null: nobody has come yet
    std::uint64_t rx_cells, tx_cells;
  };

  Switch(SwitchPlan plan, base::Random& random);
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // Adds the port of this number over an underlay, which outlives this: it listens, or connects to
  // the switch at `to`. `config` has identity and limits; what the topology gives is added. The
  // full profile is not for switches yet. REQUIRES that the plan has something at this port, and
  // once each.
  Port& add_port(std::uint8_t number, Underlay& underlay, PortConfig config, const PeerAddress* to,
                 base::Time now);

  // One iteration: receives from each port that need not wait, forwards, flushes. Returns true if
  // any work was done.
  bool step(base::Time now);
  base::Time deadline() const;
  void send_bye(base::Time now);

  const SwitchPlan& plan() const { return plan_; }
  std::vector<PortView> ports() const;
  bool is_up() const;  // a link of it is
  std::uint64_t bytes_forwarded() const { return bytes_forwarded_; }
  std::size_t waiting_cells() const;
  const base::Counters<SwitchCounter>& counters() const { return counters_; }
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  // A port of the switch.
  struct End final : LinkObserver {
    End(std::uint8_t number_, const SwitchPlan::Port& plan_, Underlay& underlay,
        const PortConfig& config, base::Random& random, std::size_t queue_bytes)
        : number(number_), plan(plan_), port(underlay, config, random, *this), queue(queue_bytes) {}
    void on_link_up(Link& up) override;
    void on_link_down(Link& down, std::string_view why) override;
    void on_peer_restarted(Link& /*link*/) override {}
    void on_refused(Link& by, InitReason reason) override;
    std::string label() const;

    const std::uint8_t number;
    const SwitchPlan::Port& plan;
    Port port;
    Link* link = nullptr;
    CellQueue queue;                 // that did not fit the output
    base::Time waits_since{};        // of its front
    const End* waits_for = nullptr;  // as an input
    std::uint64_t rx_cells = 0, tx_cells = 0;
  };

  // A batch in, by each port, and twice their heads and rounding.
  static constexpr std::size_t kQueueBytesOfPort = std::size_t{2} * ReceivedCells::kBatchBytesMax;
  static constexpr unsigned kBatchesPerPort = 8;
  static constexpr base::Duration kBlockedRetry = std::chrono::microseconds(100);

  bool receive(End& from, base::Time now);
  void on_cell(End& from, Link& link, const ReceivedCell& cell, base::Time now);
  void forward(End& from, End& to, const ReceivedCell& cell, base::Time now);
  static bool fits(const End& to, base::Bytes cell);
  bool send(End& to, base::Bytes cell, std::uint8_t vl);
  bool drain(End& to, base::Time now);
  void drop_queue(End& of, SwitchCounter reason);
  void on_mgmt(Link& link, const ReceivedCell& cell, Lid from);
  bool reply(Link& link, const Mgmt& request, Lid to);

  const SwitchPlan plan_;
  base::Random& random_;
  base::Counters<SwitchCounter> counters_;
  std::vector<std::unique_ptr<End>> ends_;
  std::array<End*, kSwitchPortsMax + 1> by_number_{};
  std::uint64_t bytes_forwarded_ = 0;
  base::Time now_{};
};

}  // namespace splitnic::fabric
