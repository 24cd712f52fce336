// A case: one rule of the protocol, and an exchange that shows whether the target keeps it. The
// cases of one part of the protocol are in one file of conformance/cases; all_cases() has all of
// them in the order of a run, cases(role) those of one role. A case that any end can play is for
// hosts and I/O units as targets.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/host.h"
#include "conformance/node.h"
#include "conformance/role.h"
#include "conformance/unit.h"

namespace splitnic::conformance {

class Subnet;

// The links that a case is about.
enum class Links : std::uint8_t { kAny, kPlain, kKeyed };

// The profiles of the link that a case is about.
enum class Profiles : std::uint8_t {
  kAny,
  kWholeCells,  // speed and shm: one cell per flit, and a link that is SILENT stays
  kFull,
};

struct Case {
  std::string id{};           // group.name
  std::string clause{};       // of the specification: see clauses()
  std::string description{};  // one sentence
  Links links = Links::kAny;
  Profiles profiles = Profiles::kAny;
  Level level = Level::kMust;
  bool may_harm = false;                               // afterwards a new connection must be served
  std::size_t ends = 1;                                // hosts, or ports of a switch
  std::function<void(Host& host, Host& other)> run{};  // none: not with the suite as a host
  std::function<void(Unit& unit)> run_as_unit{};       // none: not with the suite as an I/O unit
  std::function<void(Nodes& nodes)> run_as_nodes{};    // none: not against a switch
  std::function<void(Subnet& subnet)> run_as_subnet{};  // none: not against a manager

  std::string group() const { return id.substr(0, id.find('.')); }
  // Those of `clause`, which are apart by commas: the case would fail if one of them was broken.
  // The first one is its subject.
  std::vector<std::string> clauses() const;
  bool is_for(Role role) const {
    switch (role) {
      case Role::kHost:
        return run != nullptr;
      case Role::kUnit:
        return run_as_unit != nullptr;
      case Role::kNodes:
        return run_as_nodes != nullptr;
      case Role::kSubnet:
        return run_as_subnet != nullptr;
    }
    return false;
  }
};

// Collects the cases of a group, each for the end that it names.
template <class Player>
class GroupOf {
 public:
  using Run = std::function<void(Player&)>;
  explicit GroupOf(std::string name) : name_(std::move(name)) {}

  // A case after which the target serves on, as it checks itself.
  Case& add(const std::string& name, const std::string& clause, const std::string& description,
            const Run& run) {
    all_.push_back({.id = name_ + "." + name, .clause = clause, .description = description});
    if constexpr (std::is_base_of_v<Player, Host>) {
      all_.back().run = [run](Host& host, Host&) { run(host); };
    }
    if constexpr (std::is_base_of_v<Player, Unit>) all_.back().run_as_unit = run;
    if constexpr (std::is_same_v<Player, Nodes>) all_.back().run_as_nodes = run;
    if constexpr (std::is_same_v<Player, Subnet>) {
      all_.back().run_as_subnet = run;
      all_.back().ends = kManagerPorts;
    }
    return all_.back();
  }
  // One after which the target must serve a new connection.
  Case& add_harmful(const std::string& name, const std::string& clause,
                    const std::string& description, const Run& run) {
    Case& added = add(name, clause, description, run);
    added.may_harm = true;
    return added;
  }
  Case& add_of_two(const std::string& name, const std::string& clause,
                   const std::string& description, std::function<void(Host&, Host&)> run) {
    all_.push_back({.id = name_ + "." + name, .clause = clause, .description = description});
    all_.back().ends = 2;
    all_.back().run = std::move(run);
    return all_.back();
  }
  // All of them are about links of these profiles.
  std::vector<Case> take(Profiles profiles) {
    for (Case& one : all_) one.profiles = profiles;
    return take();
  }
  std::vector<Case> take() { return std::move(all_); }

 private:
  std::string name_;
  std::vector<Case> all_;
};

using Group = GroupOf<Host>;
using UnitGroup = GroupOf<Unit>;
using SharedGroup = GroupOf<End>;
using NodesGroup = GroupOf<Nodes>;
using SubnetGroup = GroupOf<Subnet>;

std::vector<Case> link_cases();
std::vector<Case> flit_cases();
std::vector<Case> lane_cases();
std::vector<Case> lane_fault_cases();
std::vector<Case> lane_restart_cases();
std::vector<Case> cell_cases();
std::vector<Case> transport_cases();
std::vector<Case> loss_cases();
std::vector<Case> repair_cases();
std::vector<Case> connection_cases();
std::vector<Case> agreement_cases();
std::vector<Case> packet_crc_cases();
std::vector<Case> message_cases();
std::vector<Case> pool_cases();
std::vector<Case> data_cases();
std::vector<Case> frame_cases();
std::vector<Case> cfg_cases();
std::vector<Case> cfg_reply_cases();
std::vector<Case> nic_cases();
std::vector<Case> key_cases();
std::vector<Case> state_cases();
std::vector<Case> element_cases();
std::vector<Case> hostile_cases();

// Cases of the host as the target.
std::vector<Case> host_link_cases();
std::vector<Case> host_connection_cases();
std::vector<Case> host_frame_cases();
std::vector<Case> host_cfg_cases();
std::vector<Case> host_key_cases();
std::vector<Case> host_state_cases();

// Cases of a switch as the target.
std::vector<Case> path_link_cases();
std::vector<Case> path_cell_cases();
std::vector<Case> path_lids_cases();
std::vector<Case> path_name_cases();
std::vector<Case> path_load_cases();
std::vector<Case> path_partition_cases();

// Cases of a switch that manages as the target.
std::vector<Case> manager_sweep_cases();
std::vector<Case> manager_table_cases();
std::vector<Case> manager_reply_cases();
std::vector<Case> manager_standby_cases();
std::vector<Case> agent_route_cases();
std::vector<Case> agent_trap_cases();
std::vector<Case> agent_drop_cases();
std::vector<Case> agent_table_cases();
std::vector<Case> agent_load_cases();
std::vector<Case> agent_node_cases();

std::vector<Case> all_cases();
// Those that this end can play.
std::vector<Case> cases(Role role = Role::kHost);

}  // namespace splitnic::conformance
