#include "host_module/request_data.h"

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {

namespace cfg = messaging::cfg;

std::string filter_data(const FilterSetting& filter) {
  cfg::SetFilterRequest request;
  cfg::Filter& to = *request.mutable_filter();
  for (const lan::MacAddress& mac : filter.lists.unicast) to.add_unicast(mac.data(), mac.size());
  for (const lan::MacAddress& mac : filter.lists.multicast)
    to.add_multicast(mac.data(), mac.size());
  to.set_promiscuous(filter.promiscuous);
  to.set_all_multicast(filter.lists.all_multicast);
  return request.SerializeAsString();
}

std::string queues_data(std::uint32_t queues) {
  cfg::SetQueuesRequest request;
  request.set_queues(queues);
  return request.SerializeAsString();
}

std::string coalescing_data(const messaging::Coalescing& coalescing) {
  cfg::SetCoalesceRequest request;
  request.set_microseconds(coalescing.microseconds);
  request.set_frames(coalescing.frames);
  request.set_bytes(coalescing.bytes);
  request.set_adaptive(coalescing.is_adaptive);
  return request.SerializeAsString();
}

std::string qos_data(const messaging::QosMap& map) {
  cfg::SetQosRequest request;
  request.set_priorities(map.priorities_field());
  request.set_code_points(map.code_points_field());
  return request.SerializeAsString();
}

}  // namespace splitnic::host
