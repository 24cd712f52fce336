// NicService: how the frames of a host are delivered: on which queues, when, and with which service
// levels. docs/nic_service.md#delivery
#include <algorithm>

#include "iou_module/nic/cfg_data.h"
#include "iou_module/nic/nic_service.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou {

namespace cfg = messaging::cfg;
using messaging::CfgReply;
using messaging::CfgRequest;
using messaging::CfgStatus;

// The host ends the connections of the queues that it does not use any more.
CfgReply NicService::set_queues(AttachedHost& host, const CfgRequest& request) {
  cfg::SetQueuesRequest ask;
  if (!parse(request, ask) || ask.queues() == 0 || ask.queues() > messaging::kQueuesMax) {
    return refuse(CfgStatus::kBadValue);
  }
  host.nic().queues = std::min(ask.queues(), queues_of(host));
  cfg::SetQueuesReply reply;
  reply.set_queues(host.nic().queues);
  return ok(reply);
}

// How frames are delivered to a host concerns this host alone.
CfgReply NicService::set_coalesce(AttachedHost& host, const CfgRequest& request) {
  cfg::SetCoalesceRequest ask;
  if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
  const messaging::Coalescing wanted{ask.microseconds(), ask.frames(), ask.bytes(), ask.adaptive()};
  if (!wanted.is_valid()) return refuse(CfgStatus::kBadValue);
  host.nic().coalescing = wanted;
  host.tx().on_settings();
  cfg::SetCoalesceReply reply;
  reply.set_microseconds(wanted.microseconds);
  reply.set_frames(wanted.frames);
  reply.set_bytes(wanted.bytes);
  reply.set_adaptive(wanted.is_adaptive);
  return ok(reply);
}

CfgReply NicService::set_qos(AttachedHost& host, const CfgRequest& request) {
  cfg::SetQosRequest ask;
  if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
  const auto wanted = messaging::QosMap::parse(ask.priorities(), ask.code_points());
  if (!wanted) return refuse(CfgStatus::kBadValue);
  if (host.rights().sl && !wanted->empty()) {
    host.stats().count(AttachedHostCounter::kRefusedLevel);
    return refuse(CfgStatus::kNotPermitted);
  }
  host.nic().qos = *wanted;
  host.tx().on_settings();
  const auto in_force = messaging::QosQueues::in_force(*wanted, host.connection().levels());
  cfg::SetQosReply reply;
  reply.set_priorities(in_force.priorities_field());
  reply.set_code_points(in_force.code_points_field());
  return ok(reply);
}

}  // namespace splitnic::iou
