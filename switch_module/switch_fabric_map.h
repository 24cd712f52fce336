// The topology file next to what the last sweep of the subnet manager has found, and the loads that
// it has read. Pure.
#pragma once

#include <string>

#include "control/report/fabric_map.h"
#include "fabric_emul/subnet/node_setup.h"
#include "fabric_emul/subnet/port_loads.h"
#include "fabric_emul/subnet/subnet_view.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

// `manager` is the switch whose manager has these reports, the names of these programs, and these
// loads.
control::FabricMap map_of(const fabric::Topology& file, const fabric::SubnetView::Reports& found,
                          const fabric::NodeSetup::Programs& programs,
                          const fabric::PortLoads::CellsPerSecond& loads,
                          const std::string& manager);

}  // namespace splitnic::fabric_switch
