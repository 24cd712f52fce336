// Brings new tables into force at the switches of a subnet, in two stages, so that cells cannot
// circulate: first each switch loses the entries that change, and when all have, each gets the new
// ones. Tables of a switch that it does not know, as after a change by another manager, it reads
// before. Sans-I/O. Thread: the data thread. docs/protocol/subnet.md
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/subnet/subnet_view.h"
#include "fabric_emul/subnet/switch_requests.h"
#include "fabric_emul/subnet/table_blocks.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class TableUpdate {
 public:
  // After a reply. kStale: something is not as the sweep has found it. kRejected: the switch has
  // other tables than the file. kRefused: it obeys another manager, the one that the reply names.
  enum class Outcome : std::uint8_t { kNone, kStale, kRejected, kRefused };

  // All outlive this. The requests are its own from begin() on until advance() returns false or
  // they are cleared.
  TableUpdate(const Topology& file, const SubnetView& view, SwitchRequests& requests);

  // The view has a whole sweep, whose requests went to these switches, in their order. Returns
  // false if those that have reported have the tables that follow, and carry cells by them.
  bool begin(const std::vector<const Topology::Switch*>& reached, base::Time now);
  Outcome on_reply(const SwitchRequests::Reply& reply, base::Time now);
  // Begins what comes next. Returns false if that was all. REQUIRES that no request waits.
  bool advance(base::Time now);

 private:
  enum class Stage : std::uint8_t { kRead, kClear, kSet };
  struct Tables {  // of a switch
    std::uint32_t check = 0;
    ForwardingTables ports;
    bool is_whole = true;  // false: begun to be read
  };
  struct Target {
    const Topology::Switch* is = nullptr;
    std::size_t number = 0;  // of the requests
    Tables next{};
    std::vector<TablePart> parts{};  // to read or set in this stage
    std::size_t part = 0;            // of these
  };

  bool start(Stage stage, base::Time now);
  bool is_due(const Target& target);
  void request(const Target& target, base::Time now);
  Outcome on_status(const Target& target, const Smp& reply);
  Outcome on_other_check(const Target& target, std::uint32_t check);
  Outcome reject(const Target& target, const std::string& line);
  // The tables that this stage sets at the switch.
  const Tables& tables_of(const Target& target) const;

  const Topology& file_;
  const SubnetView& view_;
  SwitchRequests& requests_;
  std::map<std::string, Tables> in_force_;  // as far as known: read, set, or of the file
  std::map<std::string, Tables> common_;    // with those that come
  std::vector<Target> targets_;
  Stage stage_ = Stage::kRead;
  std::set<std::string> refusing_;  // and logged
  std::set<std::string> waiting_;   // had all parts of the last round, and kept its tables
};

}  // namespace splitnic::fabric
