// The data of SET_FILTER, SET_QUEUES, SET_COALESCE and SET_QOS. docs/protocol/cfgutil.md#codes
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "host_module/user_filter.h"
#include "messaging/cfgutil/nic_state.h"

namespace splitnic::host {

std::string filter_data(const FilterSetting& filter);
std::string queues_data(std::uint32_t queues);
std::string coalescing_data(const messaging::Coalescing& coalescing);
std::string qos_data(const messaging::QosMap& map);

}  // namespace splitnic::host
