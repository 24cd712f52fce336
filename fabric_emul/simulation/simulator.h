// A discrete-event simulation of a fabric, cell by cell: nodes with queues, lines with a delay and
// a rate, switches whose inputs have buffers and credits per lane and hop, so that contention
// causes back pressure and never loss. A crossbar sends one cell at a time to an output and takes
// one at a time from a buffer; cut-through or store-and-forward. Inputs that want one
// output are served in the order in which they began to wait, lanes in round robin.
//
// 1. kOffer: a node adds a cell to its queue. 2. The first cell of a buffer requests the line that
// the table of its switch names. 3. The line serves it when it is free and has a credit: kLineFree
// when all of the cell has left, kArrival or kDelivery at the other end, kCredit back to where the
// cell came from. Failures and repairs come at given times; the tables follow after a delay.
//
// The same topology, settings, changes, workload and seed give the same report. docs/simulator.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/routing/routing.h"
#include "fabric_emul/simulation/model.h"
#include "fabric_emul/simulation/report.h"
#include "fabric_emul/simulation/settings.h"
#include "fabric_emul/simulation/timeline.h"
#include "fabric_emul/simulation/workload.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric::simulation {

class Simulator final {
 public:
  // `routing` outlives this. An error: fewer than two nodes, a change of what is not in the
  // topology, a workload that does not fit, a topology that the routing is not for, or buffers for
  // more than kCellsMax cells in all. REQUIRES a topology as graph_of() does.
  static base::Result<std::unique_ptr<Simulator>> make(const Topology& topology,
                                                       const Settings& settings,
                                                       const Routing& routing,
                                                       const Workload& workload,
                                                       std::uint64_t seed);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // REQUIRES that run() was not called.
  base::Status add_change(const Change& change);
  // The senders send for `duration`; then what is in the fabric arrives. Ends early with a
  // deadlock.
  Report run(SimTime duration);

 private:
  struct Pending {  // what happens at a time that an option gives
    std::vector<std::uint32_t> lines{};
    std::uint32_t vertex = kNone;
    bool is_repair = false;
    bool is_new_tables = false;
  };
  struct LatencySum {
    std::uint64_t cells = 0;
    double picoseconds = 0;
  };

  Simulator(const Topology& topology, const Settings& settings, const Routing& routing,
            const Workload& workload);

  void start_senders();
  void step();
  void on_offer(const Event& event);
  void on_line_free(const Event& event);
  void on_credit(const Event& event);
  void on_arrival(const Event& event);
  void on_delivery(const Event& event);
  void request(std::uint32_t buffer);
  std::uint32_t route(const InputBuffer& buffer) const;
  void return_credit(const InputBuffer& buffer);
  void serve(std::uint32_t line);
  std::uint32_t take_waiting(Line& line);
  void send(std::uint32_t line, std::uint32_t buffer);
  bool has_deadlock();

  base::Status compute_tables();
  void compute_tables_of_rest();
  void apply(const Pending& change);
  void set_line(std::uint32_t line);
  void end_life(std::uint32_t line);
  void empty_switch(std::uint32_t vertex);
  void restart_waiting();
  void fill_report();

  const Settings settings_;
  const Routing& routing_;
  const Workload workload_;
  Model model_;
  Timeline events_;
  std::unique_ptr<base::SeededRandom> random_;
  std::unique_ptr<Destinations> destinations_;
  std::vector<ForwardingTables> tables_;
  std::multimap<SimTime, Pending> changes_;
  SimTime now_{}, duration_{};
  std::uint64_t steps_ = 0, steps_per_check_ = 0;
  std::uint32_t hops_max_ = 0;
  std::vector<LatencySum> latency_by_hops_;
  Report report_;
};

}  // namespace splitnic::fabric::simulation
