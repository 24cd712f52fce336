#include "iou_module/hosts/host_label.h"

#include <fmt/format.h>

#include "iou_module/hosts/attached_host.h"

namespace splitnic::iou {
namespace {

// Users and nodes behind switches state any EUI-64, also that of another host.
std::string proof_text(const HostId& node) {
  switch (node.proof) {
    case HostId::Proof::kKey:
      return "#key";
    case HostId::Proof::kUser:
      return "#uid" + std::to_string(node.number);
    case HostId::Proof::kNode:
      return "#lid" + std::to_string(node.number);
    case HostId::Proof::kNone:
      break;
  }
  return "";
}

}  // namespace

std::string name_with_node(const std::string& name, const HostId& node) {
  return fmt::format("{}#{:016x}", name, node.eui64.value);
}

std::string label_of(const AttachedHost& host, const std::vector<AttachedHost*>& all) {
  const std::string& stated = host.identity().stated_name();
  if (!host.rights().name.empty() || stated.empty()) return host.identity().name();
  const HostId& node = host.identity().node();
  bool has_namesake = host.identity().states_name_of_another();
  bool has_its_eui64 = false;
  for (const AttachedHost* other : all) {
    if (other == &host || other->has_ended() || !other->rights().name.empty()) continue;
    if (other->identity().stated_name() != stated) continue;
    has_namesake = true;
    const HostId& its = other->identity().node();
    has_its_eui64 = has_its_eui64 || (its != node && its.eui64 == node.eui64);
  }
  if (!has_namesake) return stated;
  return name_with_node(stated, node) + (has_its_eui64 ? proof_text(node) : "");
}

}  // namespace splitnic::iou
