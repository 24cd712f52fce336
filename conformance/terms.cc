#include "conformance/terms.h"

#include "messaging/connect.pb.h"
#include "messaging/wire/idata.h"

namespace splitnic::conformance {
namespace {

constexpr std::uint32_t kDataMessageMax = 65536;

}  // namespace

std::string capabilities_of(const Terms& terms) {
  messaging::connect::Capabilities mine;
  const bool is_separate = terms.channels == Terms::Channels::kSeparate;
  mine.set_mode(is_separate ? messaging::connect::MODE_SEND : messaging::connect::MODE_RDMA);
  mine.set_version_lowest(1);
  mine.set_version_highest(1);
  mine.add_msg_max(kOwnMessageMax);
  mine.add_msg_max(kDataMessageMax);
  mine.set_idata_form_in(static_cast<messaging::connect::IdataForm>(terms.idata_form_in));
  mine.set_idata_form_out(messaging::connect::IDATA_FORM_POOL_ELEMENT);
  mine.set_node_name("conform");
  mine.set_queues(1);
  mine.set_channels(static_cast<messaging::connect::Channels>(terms.channels));
  if (is_separate) mine.set_channel(terms.connecting);
  if (terms.selects_flows) mine.set_context_in(messaging::connect::POOL_CONTEXT_FLOW);
  return mine.SerializeAsString();
}

}  // namespace splitnic::conformance
