#include "iou_module/hosts/vlan_rules.h"

#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vlan.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {
namespace {

constexpr std::size_t kTypeAt = lan::VnetHeader::kBytes + lan::kEthertypeOffset;
constexpr std::uint16_t kIdMask = 0x0FFF;

struct Tag {
  std::uint16_t tpid = 0;
  std::uint16_t tci = 0;
  std::uint16_t id() const { return tci & kIdMask; }
};

std::optional<Tag> outer_tag(base::Bytes frame) {
  if (frame.size() < kTypeAt + 2 + lan::kVlanTagBytes) return std::nullopt;
  const auto tpid = base::load_be<std::uint16_t>(frame.data() + kTypeAt);
  if (tpid != lan::kEthertypeVlan && tpid != lan::kEthertypeServiceVlan) return std::nullopt;
  return Tag{tpid, base::load_be<std::uint16_t>(frame.data() + kTypeAt + 2)};
}

// Also those of switches from before 802.1ad.
bool is_tag_type(std::uint16_t type) {
  return type == lan::kEthertypeVlan || type == lan::kEthertypeServiceVlan || type == 0x9100 ||
         type == 0x9200 || type == 0x9300;
}

bool is_priority_tag(const Tag& tag) { return tag.tpid == lan::kEthertypeVlan && tag.id() == 0; }

}  // namespace

std::vector<std::uint16_t> VlanRules::list() const {
  std::vector<std::uint16_t> ids;
  for (std::uint16_t id = 0; id <= kIdMax; ++id) {
    if (listed_.test(id)) ids.push_back(id);
  }
  return ids;
}

VlanRules::Verdict VlanRules::to_host(base::Bytes frame) const {
  if (is_plain()) return Verdict::kPass;
  const auto tag = outer_tag(frame);
  if (!tag || is_priority_tag(*tag)) return pvid_ == 0 ? Verdict::kPass : Verdict::kDrop;
  if (pvid_ != 0 && tag->tpid == lan::kEthertypeVlan && tag->id() == pvid_) {
    return Verdict::kPassUntagged;
  }
  const bool is_listed = tag->id() <= kIdMax && listed_.test(tag->id());
  return !has_list_ || is_listed ? Verdict::kPass : Verdict::kDrop;
}

bool VlanRules::tags(base::Bytes frame) const {
  if (pvid_ == 0) return false;
  const auto tag = outer_tag(frame);
  return !tag || is_priority_tag(*tag);
}

bool VlanLimit::passes(base::Bytes frame, std::uint16_t untagged_as) const {
  if (!vlans_) return true;
  const auto type = base::load_be<std::uint16_t>(frame.data() + kTypeAt);
  if (!is_tag_type(type)) return vlans_->test(untagged_as);
  const auto tag = outer_tag(frame);
  if (!tag || tag->tpid != lan::kEthertypeVlan) return false;
  const auto inner = base::load_be<std::uint16_t>(frame.data() + kTypeAt + lan::kVlanTagBytes);
  if (is_tag_type(inner) || tag->id() > VlanRules::kIdMax) return false;
  return vlans_->test(tag->id() == 0 ? untagged_as : tag->id());
}

base::MutableBytes take_tag_out(base::MutableBytes frame) {
  constexpr auto kShift = static_cast<std::uint16_t>(lan::kVlanTagBytes);
  lan::VnetHeader header = lan::VnetHeader::parse(frame);
  if (header.needs_checksum() && header.csum_start >= kShift) {
    header.csum_start = static_cast<std::uint16_t>(header.csum_start - kShift);
  }
  if (header.hdr_len >= kShift)
    header.hdr_len = static_cast<std::uint16_t>(header.hdr_len - kShift);
  const base::MutableBytes out = frame.subspan(lan::kVlanTagBytes);
  std::memmove(out.data(), frame.data(), kTypeAt);
  header.emit(out);
  return out;
}

base::MutableBytes copy_with_tag(base::Bytes frame, std::uint16_t id, base::MutableBytes room) {
  CHECK(frame.size() <= room.size() && room.size() - frame.size() >= lan::kVlanTagBytes);
  if (const auto tag = outer_tag(frame); tag && is_priority_tag(*tag)) {
    std::memcpy(room.data(), frame.data(), frame.size());
    base::store_be<std::uint16_t>(room.data() + kTypeAt + 2,
                                  static_cast<std::uint16_t>(tag->tci | id));
    return room.first(frame.size());
  }
  const base::MutableBytes copy = room.subspan(lan::kVlanTagBytes, frame.size());
  std::memcpy(copy.data(), frame.data(), frame.size());
  return lan::put_tag_back(copy, lan::kEthertypeVlan, id);
}

}  // namespace splitnic::iou
