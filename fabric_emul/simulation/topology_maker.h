// Regular topologies of any size, for simulations and to begin a topology file with. Pure.
#pragma once

#include <string_view>

#include "base/status.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric::simulation {

// "fattree:K" is a tree of three levels of switches with K ports, K even: K pods of K/2 leaves with
// K/2 nodes each, (K/2)^2 spines; "fattree:K:PODS" has fewer pods. "ring:N", "mesh:RxC"
// and "torus:RxC" have one node per switch. Names: nodes n0, n1, ...; switches of a tree pPeE
// (leaf), pPaA, spineS, others sw1, sw2, ..., row by row; LIDs: of the switches from 1, then of the
// nodes. Trees are routed as trees, the
// others by up*/down*. An error: another text, or a number out of its range.
base::Result<Topology> make_topology(std::string_view text);

}  // namespace splitnic::fabric::simulation
