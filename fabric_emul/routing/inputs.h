// Helpers that spread routes over a switch's input tables: a way that the table of one input does
// not take, that of the next one may. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric_emul/routing/forwarding_table.h"
#include "fabric_emul/routing/subnet_graph.h"

namespace splitnic::fabric {

using Inputs = std::vector<std::uint8_t>;

// By the index of the switch: kNoInput, which stands for all where there is one table, and behind
// it the ports at which something is, ascending, if each has its own.
std::vector<Inputs> inputs_of(const SubnetGraph& graph, TablesPer per);

// Has `lid` leave by one of `ways` from each input: the first input by way `first`, modulo their
// number, the next one by the next. Without ways it has no port.
void set_ways(ForwardingTables& tables, const Inputs& inputs, Lid lid,
              std::span<const std::uint8_t> ways, std::size_t first);

}  // namespace splitnic::fabric
