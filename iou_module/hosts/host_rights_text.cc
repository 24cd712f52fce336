#include "iou_module/hosts/host_rights_text.h"

#include <string_view>

namespace splitnic::iou {
namespace {

constexpr std::size_t kNicsShown = 4;

// In the largest unit that divides it.
std::string size_text(std::uint64_t value, std::uint64_t unit) {
  std::string suffix;
  for (const char next : std::string_view("KMGT")) {
    if (value == 0 || value % unit != 0) break;
    value /= unit;
    suffix = next;
  }
  return std::to_string(value) + suffix;
}

std::string nics_text(const std::vector<std::uint32_t>& nics) {
  if (nics.size() > kNicsShown) return std::to_string(nics.size()) + " of them";
  std::string text;
  for (const std::uint32_t nic : nics) text += (text.empty() ? "" : ",") + std::to_string(nic);
  return text;
}

}  // namespace

std::string rights_text(const HostRights& rights) {
  const HostRights defaults;
  std::string text;
  const auto add = [&](bool differs, const std::string& part) {
    if (differs) text += (text.empty() ? "" : " ") + part;
  };
  const auto add_number = [&](std::string_view name, std::uint64_t value, std::uint64_t usual) {
    add(value != usual, std::string(name) + "=" + std::to_string(value));
  };
  add(!rights.nics.empty(), "nic=" + nics_text(rights.nics));
  add_number("partitions", rights.partitions.size(), 0);
  if (rights.sl) add(true, "sl=" + std::to_string(*rights.sl));
  add_number("macs", rights.macs.size(), 0);
  add_number("mac_count", rights.mac_count, defaults.mac_count);
  if (rights.vlans) add(true, "vlans=" + std::to_string(rights.vlans->count()));
  if (rights.pvid) add(true, "pvid=" + std::to_string(*rights.pvid));
  add(rights.may_sniff, "sniff");
  add(rights.may_forge, "forge");
  add_number("queues", rights.queues_max, defaults.queues_max);
  if (rights.memory_max) add(true, "memory=" + size_text(*rights.memory_max, 1024));
  add(rights.bits_per_second != defaults.bits_per_second,
      "rate=" + size_text(rights.bits_per_second, 1000));
  add_number("frames", rights.frames_per_second, defaults.frames_per_second);
  add_number("group_frames", rights.group_frames_per_second, defaults.group_frames_per_second);
  add_number("from", rights.from.size(), 0);
  return text.empty() ? "default" : text;
}

}  // namespace splitnic::iou
