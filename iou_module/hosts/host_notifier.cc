#include "iou_module/hosts/host_notifier.h"

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou {

void HostNotifier::report_lan(const lan::PortState& lan, base::Time now) {
  if (now < deadline()) return;
  messaging::cfg::EventRequest event;
  event.set_generation(events_.newest());
  event.mutable_link()->set_up(lan.link_up);
  event.mutable_link()->set_speed_mbps(lan.speed_mbps);
  event.mutable_link()->set_full_duplex(lan.full_duplex);
  event.set_mtu(lan.mtu);
  const auto sent = request_(messaging::CfgCode::kEvent, event.SerializeAsString(),
                             [this, number = events_.newest()](const auto& reply) {
                               events_.on_end(number, reply.replied);
                             });
  events_.on_attempt(sent.has_value(), now);
}

void HostNotifier::request_announce() {
  if (!is_announce_due_) return;
  is_announce_due_ = !request_(messaging::CfgCode::kAnnounce, {}, [](const auto&) {}).has_value();
}

}  // namespace splitnic::iou
