// The VLANs of one host. A list (VLAN_ADD, VLAN_DEL) excludes frames of all other VLANs; an empty
// list lets all pass, and untagged frames always pass. A PVID makes the host an access port of that
// VLAN: its untagged frames leave with the tag, frames of that VLAN reach it without the tag, and
// untagged frames of the LAN, which are of another VLAN then, do not reach it. VLAN 0 is a priority
// tag and counts as untagged. Pure. docs/nic_service.md#vlans
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace splitnic::iou {

class VlanRules {
 public:
  static constexpr std::uint16_t kIdMax = 4094;
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
  std::bitset<kIdMax + 1> listed_;
  bool has_list_ = false;
  std::uint16_t pvid_ = 0;
};

// Removes the outer tag without moving the payload and returns the frame, which begins
// kVlanTagBytes later. REQUIRES a tag.
base::MutableBytes take_tag_out(base::MutableBytes frame);
// Copies `frame` to `room` with this tag and returns the copy; the priority of a priority tag
// stays. REQUIRES room.size() >= frame.size() + kVlanTagBytes.
base::MutableBytes copy_with_tag(base::Bytes frame, std::uint16_t id, base::MutableBytes room);

}  // namespace splitnic::iou
