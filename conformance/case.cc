#include "conformance/case.h"

#include <iterator>

#include "conformance/cases/variant.h"

namespace splitnic::conformance {

std::vector<std::string> Case::clauses() const {
  std::vector<std::string> all;
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = clause.find(',', at);
    all.push_back(clause.substr(at, end - at));
  }
  return all;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* group : {&link_cases,
                      &flit_cases,
                      &lane_cases,
                      &lane_fault_cases,
                      &lane_restart_cases,
                      &cell_cases,
                      &transport_cases,
                      &loss_cases,
                      &repair_cases,
                      &connection_cases,
                      &agreement_cases,
                      &packet_crc_cases,
                      &message_cases,
                      &pool_cases,
                      &data_cases,
                      &frame_cases,
                      &variant_cases,
                      &cfg_cases,
                      &cfg_reply_cases,
                      &nic_cases,
                      &key_cases,
                      &host_link_cases,
                      &host_connection_cases,
                      &host_frame_cases,
                      &host_variant_cases,
                      &host_cfg_cases,
                      &host_key_cases,
                      &state_cases,
                      &element_cases,
                      &hostile_cases,
                      &host_state_cases,
                      &path_link_cases,
                      &path_cell_cases,
                      &path_lids_cases,
                      &path_name_cases,
                      &path_load_cases,
                      &path_partition_cases,
                      &manager_sweep_cases,
                      &manager_table_cases,
                      &manager_reply_cases,
                      &manager_standby_cases,
                      &agent_route_cases,
                      &agent_trap_cases,
                      &agent_drop_cases,
                      &agent_table_cases,
                      &agent_load_cases,
                      &agent_node_cases}) {
    auto some = group();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Case> cases(Role role) {
  std::vector<Case> all = all_cases();
  std::erase_if(all, [role](const Case& one) { return !one.is_for(role); });
  return all;
}

}  // namespace splitnic::conformance
