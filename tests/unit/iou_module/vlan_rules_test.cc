// The VLANs whose frames reach a host, and the tag of its untagged frames.
#include "iou_module/hosts/vlan_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/endian.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {
namespace {

using Verdict = VlanRules::Verdict;
using Frame = std::vector<std::byte>;

constexpr std::uint16_t kService = 0x88A8;
constexpr std::size_t kEthernetAt = lan::VnetHeader::kBytes;

// Addresses, then the tags, then an IPv4 type and a pattern.
Frame frame_with(std::initializer_list<std::pair<std::uint16_t, std::uint16_t>> tags) {
  Frame frame(kEthernetAt);
  for (unsigned i = 1; i <= 12; ++i) frame.push_back(static_cast<std::byte>(i));
  const auto put = [&](std::uint16_t word) {
    frame.resize(frame.size() + 2);
    base::store_be(frame.data() + frame.size() - 2, word);
  };
  for (const auto& [tpid, tci] : tags) {
    put(tpid);
    put(tci);
  }
  put(0x0800);
  for (unsigned i = 0; i < 50; ++i) frame.push_back(static_cast<std::byte>(0x40 + i));
  return frame;
}
Frame tagged(std::uint16_t tci) { return frame_with({{0x8100, tci}}); }
Frame plain() { return frame_with({}); }

TEST(VlanRulesTest, no_list_lets_all_pass) {
  const VlanRules rules;
  EXPECT_TRUE(rules.is_plain());
  for (const Frame& f :
       {plain(), tagged(0), tagged(5), tagged(4095), frame_with({{kService, 9}})}) {
    EXPECT_EQ(rules.to_host(f), Verdict::kPass);
    EXPECT_FALSE(rules.tags(f));
  }
}

TEST(VlanRulesTest, S001_25_a_list_keeps_the_others_out) {
  VlanRules rules;
  rules.add(5);
  rules.add(4094);
  rules.add(5);
  EXPECT_EQ(rules.list(), (std::vector<std::uint16_t>{5, 4094}));
  for (const Frame& f : {plain(), tagged(0), tagged(0xE000), tagged(5), tagged(0xA005),
                         tagged(4094), frame_with({{kService, 5}, {0x8100, 6}})}) {
    EXPECT_EQ(rules.to_host(f), Verdict::kPass);
  }
  for (const Frame& f :
       {tagged(6), tagged(1), tagged(4095), frame_with({{kService, 6}, {0x8100, 5}})}) {
    EXPECT_EQ(rules.to_host(f), Verdict::kDrop);
  }
  rules.remove(5);
  EXPECT_EQ(rules.to_host(tagged(5)), Verdict::kDrop);
  rules.remove(4094);
  EXPECT_EQ(rules.to_host(tagged(5)), Verdict::kPass) << "no list: all pass";
}

TEST(VlanRulesTest, S001_25_a_pvid_makes_an_access_port) {
  VlanRules rules;
  rules.set_pvid(7);
  EXPECT_EQ(rules.to_host(tagged(7)), Verdict::kPassUntagged);
  EXPECT_EQ(rules.to_host(tagged(0xC007)), Verdict::kPassUntagged);
  EXPECT_EQ(rules.to_host(plain()), Verdict::kDrop) << "of another VLAN";
  EXPECT_EQ(rules.to_host(tagged(0)), Verdict::kDrop);
  EXPECT_EQ(rules.to_host(tagged(8)), Verdict::kPass);
  EXPECT_EQ(rules.to_host(frame_with({{kService, 7}})), Verdict::kPass) << "not a tag of this kind";
  rules.add(9);
  EXPECT_EQ(rules.to_host(tagged(8)), Verdict::kDrop);
  EXPECT_EQ(rules.to_host(tagged(7)), Verdict::kPassUntagged) << "the PVID is always listed";
  EXPECT_TRUE(rules.tags(plain()));
  EXPECT_TRUE(rules.tags(tagged(0x6000)));
  EXPECT_FALSE(rules.tags(tagged(9)));
  rules.set_pvid(0);
  EXPECT_FALSE(rules.tags(plain()));
  EXPECT_EQ(rules.to_host(plain()), Verdict::kPass);
}

TEST(VlanRulesTest, a_cut_off_tag_is_none) {
  VlanRules rules;
  rules.add(5);
  Frame frame = tagged(6);
  frame.resize(kEthernetAt + 14);
  EXPECT_EQ(rules.to_host(frame), Verdict::kPass);
}

TEST(VlanRulesTest, a_tag_put_in_and_taken_out_again_leaves_the_frame) {
  Frame frame = plain();
  lan::VnetHeader header;
  header.flags = lan::VnetHeader::kNeedsChecksum;
  header.csum_start = 34;
  header.csum_offset = 16;
  header.hdr_len = 54;
  header.emit(frame);
  std::vector<std::byte> room(frame.size() + 4);
  const base::MutableBytes out = copy_with_tag(frame, 7, room);
  ASSERT_EQ(out.size(), frame.size() + 4);
  const Frame expected = tagged(7);
  EXPECT_TRUE(
      std::ranges::equal(out.subspan(kEthernetAt), base::Bytes(expected).subspan(kEthernetAt)));
  EXPECT_EQ(lan::VnetHeader::parse(out).csum_start, 38);
  EXPECT_EQ(lan::VnetHeader::parse(out).hdr_len, 58);
  EXPECT_TRUE(std::ranges::equal(take_tag_out(out), frame));
}

TEST(VlanRulesTest, a_priority_tag_keeps_its_priority) {
  const Frame frame = tagged(0xA000);
  std::vector<std::byte> room(frame.size() + 4);
  EXPECT_TRUE(std::ranges::equal(copy_with_tag(frame, 7, room), tagged(0xA007)));
}

VlanLimit limit_of(std::initializer_list<std::uint16_t> ids,
                   std::optional<std::uint16_t> pvid = std::nullopt) {
  HostRights rights{.vlans = VlanSet(), .pvid = pvid};
  for (const std::uint16_t id : ids) rights.vlans->set(id);
  return VlanLimit(rights);
}

TEST(VlanLimitTest, without_rights_to_vlans_all_pass) {
  const VlanLimit limit{HostRights{}};
  EXPECT_FALSE(limit.is_restricted());
  for (const Frame& f : {plain(), tagged(5), frame_with({{kService, 5}, {0x8100, 6}})}) {
    EXPECT_TRUE(limit.passes(f, 0));
  }
  EXPECT_TRUE(limit.may_use(5));
  EXPECT_TRUE(limit.may_set_pvid(5));
  EXPECT_EQ(limit.pvid_default(), 0);
}

TEST(VlanLimitTest, M_4_only_the_vlans_of_the_rights_pass) {
  const VlanLimit limit = limit_of({5, 4094});
  for (const Frame& f : {tagged(5), tagged(0xE005), tagged(4094)}) EXPECT_TRUE(limit.passes(f, 0));
  for (const Frame& f : {tagged(6), tagged(4095), plain(), tagged(0)}) {
    EXPECT_FALSE(limit.passes(f, 0));
  }
  EXPECT_TRUE(limit.passes(plain(), 5)) << "it gets the tag of a PVID";
  EXPECT_TRUE(limit.passes(tagged(0xE000), 5)) << "so does a priority tag";
  EXPECT_FALSE(limit.passes(plain(), 6));
  EXPECT_TRUE(limit_of({0}).passes(plain(), 0));
  EXPECT_TRUE(limit_of({0}).passes(tagged(0x2000), 0));
}

// The outer tag may be taken off by a switch, or not be seen as one.
TEST(VlanLimitTest, M_4_a_second_tag_or_one_of_another_kind_does_not_pass) {
  const VlanLimit limit = limit_of({0, 5});
  for (const std::uint16_t type :
       std::to_array<std::uint16_t>({0x8100, 0x88A8, 0x9100, 0x9200, 0x9300})) {
    EXPECT_FALSE(limit.passes(frame_with({{0x8100, 5}, {type, 5}}), 0)) << type;
    EXPECT_FALSE(limit.passes(frame_with({{0x8100, 0}, {type, 6}}), 5)) << type;
    if (type != 0x8100) {
      EXPECT_FALSE(limit.passes(frame_with({{type, 5}}), 0)) << type;
    }
  }
  Frame cut = tagged(5);
  cut.resize(kEthernetAt + 16);
  EXPECT_FALSE(limit.passes(cut, 0));
}

TEST(VlanLimitTest, M_4_a_pvid_of_the_rights_is_the_only_one) {
  const VlanLimit limit = limit_of({5}, 7);
  EXPECT_EQ(limit.pvid_default(), 7);
  EXPECT_TRUE(limit.may_use(7)) << "it is one of its VLANs";
  EXPECT_TRUE(limit.may_set_pvid(7));
  EXPECT_FALSE(limit.may_set_pvid(5));
  EXPECT_FALSE(limit.may_set_pvid(0));
  EXPECT_FALSE(limit_of({5}, 0).may_set_pvid(5)) << "none";
  EXPECT_FALSE(limit_of({5}, 0).may_use(0)) << "none is not VLAN 0";
  EXPECT_FALSE(limit_of({5}, 0).passes(plain(), 0));
  EXPECT_TRUE(limit_of({0, 5}, 0).passes(plain(), 0));
  EXPECT_TRUE(limit_of({5}).may_set_pvid(5));
  EXPECT_TRUE(limit_of({5}).may_set_pvid(0));
  EXPECT_FALSE(limit_of({5}).may_set_pvid(6));
}

TEST(VlanLimitTest, M_4_a_pvid_alone_is_the_only_vlan) {
  const VlanLimit limit{HostRights{.pvid = 7}};
  EXPECT_TRUE(limit.is_restricted());
  EXPECT_TRUE(limit.passes(plain(), 7));
  EXPECT_TRUE(limit.passes(tagged(7), 0));
  EXPECT_FALSE(limit.passes(tagged(8), 0));
  EXPECT_FALSE(limit.passes(plain(), 0));
  EXPECT_FALSE(VlanLimit{HostRights{.pvid = 0}}.is_restricted()) << "no access VLAN";
}

}  // namespace
}  // namespace splitnic::iou
