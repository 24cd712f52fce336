// One sentence for each counter of the programs: what it counts, for people. Counters that differ
// in their last part only, such as the causes of drops, share the sentence of their common name.
#pragma once

#include <string_view>

namespace splitnic::control {

// `name` without the name of a host, and with lan for every NIC: "lan.rx.frames", "lan.rx.drop" or
// "lan.rx.drop.no_host". Returns "" if there is no sentence.
std::string_view counter_text(std::string_view name);

}  // namespace splitnic::control
