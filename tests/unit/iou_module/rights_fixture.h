// Hosts of one NIC whose rights a test sets, also while they are attached.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {

inline constexpr lan::MacAddress kGateway = kPeer;
inline constexpr lan::MacAddress kNicMac{0x02, 0, 0, 0, 0, 0xE0};

// Rights by the number of the host (UnitHarness: 1, 2, ...).
class RightsByHost final : public RightsSource {
 public:
  HostRights rights_of(const fabric::Link& link) const override {
    const auto at = rights.find(link.peer_eui64().value - 0x1000);
    return at == rights.end() ? HostRights{} : at->second;
  }
  bool is_of_another(const lan::MacAddress& mac, const fabric::Link& link) const override {
    return std::ranges::any_of(rights, [&](const auto& entry) {
      return entry.first + 0x1000 != link.peer_eui64().value &&
             std::ranges::find(entry.second.macs, mac) != entry.second.macs.end();
    });
  }
  bool names(const std::string& name) const override {
    return std::ranges::any_of(rights,
                               [&](const auto& entry) { return entry.second.name == name; });
  }
  std::map<std::uint64_t, HostRights> rights{};
};

struct RightsFixture : testing::Test {
  void attach_both() {
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    ASSERT_TRUE(harness.attach(other, mac_number(2)));
  }
  void lan_sends(const lan::MacAddress& to, const lan::MacAddress& from) {
    harness.lan().queue(frame_of(to, from));
    harness.run(5ms);
  }
  // The reason in the reply to SET_MAC.
  std::optional<cfg::Refusal> refusal_of(TestHost& who, const lan::MacAddress& mac) {
    cfg::SetMacRequest request;
    request.set_mac(bytes(mac));
    const CfgReply reply = harness.ask(who, CfgCode::kSetMac, request);
    if (reply.status == CfgStatus::kOk) return std::nullopt;
    EXPECT_EQ(reply.status, CfgStatus::kNotPermitted);
    cfg::SetMacReply got;
    EXPECT_TRUE(got.ParseFromString(reply.data));
    return got.refusal();
  }
  std::optional<cfg::Refusal> filter_refusal_of(TestHost& who,
                                                const std::vector<lan::MacAddress>& unicast,
                                                bool is_promiscuous = false) {
    const CfgReply reply = harness.filter(who, unicast, is_promiscuous);
    if (reply.status == CfgStatus::kOk) return std::nullopt;
    EXPECT_EQ(reply.status, CfgStatus::kNotPermitted);
    cfg::SetFilterReply got;
    EXPECT_TRUE(got.ParseFromString(reply.data));
    return got.refusal();
  }
  bool sends(TestHost& who, const Frame& frame) {
    const std::size_t before = harness.written[0].size();
    EXPECT_TRUE(who.push(frame));
    harness.run(5ms);
    return harness.written[0].size() > before;
  }
  const NicSettings& nic_of(TestHost& who) {
    for (const AttachedHost* at : harness.unit->hosts()) {
      if (at->link().peer_eui64() == who.link->local_eui64() && !at->has_ended()) return at->nic();
    }
    ADD_FAILURE() << "not attached";
    static const NicSettings kNone;
    return kNone;
  }

  RightsByHost source;
  UnitHarness harness{{.rights = &source}};
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
};

}  // namespace splitnic::iou::harness
