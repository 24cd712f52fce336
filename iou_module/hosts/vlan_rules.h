// The VLANs of one host. A list (VLAN_ADD, VLAN_DEL) excludes frames of all other VLANs; an empty
// list lets all pass, and untagged frames always pass. A PVID makes the host an access port of that
// VLAN: its untagged frames leave with the tag, frames of that VLAN reach it without the tag, and
// untagged frames of the LAN, which are of another VLAN then, do not reach it. VLAN 0 is a priority
// tag and counts as untagged. That is the host's own choice; a VlanLimit is the choice of the
// unit's user. Pure. docs/nic_service.md#vlans [M-4]
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "iou_module/hosts/host_rights.h"
#include "lan_bridge/frame/vlan_id.h"

namespace splitnic::iou {

class VlanRules {
 public:
  static constexpr std::uint16_t kIdMax = lan::kVlanIdMax;
  enum class Verdict : std::uint8_t { kPass, kPassUntagged, kDrop };

  // REQUIRES id <= kIdMax; 0 as PVID: none.
  void add(std::uint16_t id) {
    listed_.set(id);
    has_list_ = true;
  }
  void remove(std::uint16_t id) {
    listed_.reset(id);
    has_list_ = listed_.any();
  }
  void set_pvid(std::uint16_t id) { pvid_ = id; }

  std::uint16_t pvid() const { return pvid_; }
  std::vector<std::uint16_t> list() const;  // in ascending order
  bool is_plain() const { return pvid_ == 0 && !has_list_; }

  // Frames are [virtio-net header][Ethernet frame], at least the two headers long.
  Verdict to_host(base::Bytes frame) const;
  // Returns true if this frame of the host leaves with the tag of the PVID.
  bool tags(base::Bytes frame) const;

 private:
  VlanSet listed_;
  bool has_list_ = false;
  std::uint16_t pvid_ = 0;
};

// The VLANs that the rights of a host give it. A frame of a restricted host has one tag 0x8100 at
// most, in both directions: behind a second tag, or one of another kind, is a VLAN that a switch
// may take for the frame's. With an access VLAN and no list that VLAN is the only one.
class VlanLimit {
 public:
  // REQUIRES a PVID of at most VlanRules::kIdMax.
  explicit VlanLimit(const HostRights& rights) : vlans_(rights.vlans), pvid_(rights.pvid) {
    if (pvid_.value_or(0) == 0) return;
    if (!vlans_) vlans_.emplace();
    vlans_->set(*pvid_);
  }

  bool is_restricted() const { return vlans_.has_value(); }
  // REQUIRES id <= VlanRules::kIdMax.
  bool may_use(std::uint16_t id) const { return !vlans_ || vlans_->test(id); }
  bool may_set_pvid(std::uint16_t id) const {
    return pvid_ ? id == *pvid_ : id == 0 || may_use(id);
  }
  // The PVID of a host that has set none.
  std::uint16_t pvid_default() const { return pvid_.value_or(0); }
  // Returns true if the host may send or receive the frame. An untagged one is of VLAN
  // `untagged_as`. Frames are as for VlanRules.
  bool passes(base::Bytes frame, std::uint16_t untagged_as) const;

 private:
  std::optional<VlanSet> vlans_;
  std::optional<std::uint16_t> pvid_;
};

// Removes the outer tag without moving the payload and returns the frame, which begins
// kVlanTagBytes later. REQUIRES a tag.
base::MutableBytes take_tag_out(base::MutableBytes frame);
// Copies `frame` to `room` with this tag and returns the copy; the priority of a priority tag
// stays. REQUIRES room.size() >= frame.size() + kVlanTagBytes.
base::MutableBytes copy_with_tag(base::Bytes frame, std::uint16_t id, base::MutableBytes room);

}  // namespace splitnic::iou
