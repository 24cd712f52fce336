// A subnet as a sweep has found it, next to what the topology file has: which switches replied,
// which cables are up at both ends, and who is refused because the file has somebody else there.
// Pure. Thread: the data thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric_emul/subnet/routes.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

// The end of a log line about a switch whose file is another one.
inline constexpr const char* kGiveTheSameFile = ": give all switches the same file";

class SubnetView {
 public:
  using Reports = std::map<std::string, SmpNode>;  // by the name of the switch

  // `file` outlives this.
  explicit SubnetView(const Topology& file);

  // A sweep begins: nothing is reported.
  void clear() { reports_.clear(); }
  // The switch that is expected at the end of the route has sent this. What does not agree with the
  // file is refused: the report, if it is of another switch, or else the port. Each refusal is
  // logged once, until the place is as the file has it.
  void on_report(const Topology::Switch& expected, const SmpNode& node);
  // This switch has rejected its tables: its reports are refused as long as they are as this one,
  // apart from what nodes do. REQUIRES a report of it.
  void leave_out(const std::string& name) { rejecting_[name] = reports_.at(name); }
  // All reports of the sweep are there: of switches with the same EUI-64 the first of the file
  // counts, and the others are refused and logged once.
  void refuse_copies();

  struct Neighbour {
    std::uint8_t port;
    const Topology::Switch* is;
  };
  // Whether what decides over tables is as in these reports: all but whether nodes are up, and
  // which programs they are.
  bool has_same_tables(const Reports& before) const;
  // Whether a node has not taken the LIDs that the manager gives it.
  bool lacks_lids() const;
  // The switches at the cables of this one whose link is up there.
  std::vector<Neighbour> neighbours_of(const std::string& name) const;
  // Returns the report of this switch; null: there is none, or it is refused.
  const SmpNode* report_of(const std::string& name) const;
  const Topology::Switch* find(const std::string& name) const;
  const Reports& reports() const { return reports_; }
  const Topology& file() const { return file_; }
  // The switches that have reported, the nodes that these have where the file has them, whether
  // they are up or not, and the cables that are up at both ends.
  Topology up() const;
  // The routers that are down or cut off and another one leads where they do. REQUIRES all reports
  // of the sweep.
  std::vector<StandIn> stand_ins() const;
  bool is_up(const Topology::Cable& cable) const;
  // Whether the link of a node's or a cable's port is up there.
  bool is_up(const PortPlace& place) const { return port_up(place) != nullptr; }
  // Returns the report of that port; null: it is not up.
  const SmpNode::PortInfo* port_up(const PortPlace& place) const;

 private:
  // Without what decides over no table: whether nodes are up, and which programs they are.
  SmpNode without_nodes(SmpNode node) const;
  bool routes(const std::string& router) const;
  bool has_reported(const Topology::Node& node) const;
  void check_port(const PortPlace& place, const SmpNode::PortInfo& info);
  std::optional<Lid> expected_at(const PortPlace& place) const;
  void refuse(const PortPlace& place, const std::string& line);

  const Topology& file_;
  std::map<std::string, const Topology::Switch*> switches_;
  std::map<PortPlace, PortPlace> cables_;  // from each end to the other
  std::map<PortPlace, const Topology::Node*> nodes_;
  Reports reports_;
  std::set<PortPlace> refused_;               // and logged; port 0: the switch
  std::set<std::string> copies_;              // refused for their EUI-64, and logged
  std::map<std::string, SmpNode> rejecting_;  // switches that are left out, with their reports
};

}  // namespace splitnic::fabric
