// The NIC of a host: its settings, their digest, its statistics. docs/nic_service.md
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/cfg_requests.h"
#include "conformance/messages.h"
#include "fabric_emul/session/crypto.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgStatus;
using messaging::Function;

// A request is repeated after 500 ms.
constexpr base::Duration kRepetition = std::chrono::milliseconds(750);

void add_nic(Group& group) {
  group.add(
      "init_nic", "P-CFG-13", "INIT_NIC grants no more than was wanted, and VNET.", [](Host& h) {
        if (!h.attach()) return;
        cfg::InitNicReply reply;
        if (!read(h, expect_status(h, CfgCode::kInitNic, init_request(kVnet | 1), CfgStatus::kOk),
                  reply)) {
          return;
        }
        h.expect(reply.mac().size() == 6, "an address of 6 bytes");
        h.expect(reply.mtu_min() <= reply.mtu() && reply.mtu() <= reply.mtu_max(),
                 "an MTU in its range");
        h.expect((reply.features_granted() & ~(kVnet | 1)) == 0, "no feature that was not wanted");
        h.expect((reply.features_granted() & kVnet) != 0, "the feature VNET");
      });
  group.add("offloads", "P-CFG-19", "SET_OFFLOADS never exceeds what was granted, and keeps VNET.",
            [](Host& h) {
              if (!h.attach()) return;
              expect_status(h, CfgCode::kInitNic, init_request(kVnet | 1), CfgStatus::kOk);
              cfg::SetOffloadsReply reply;
              const std::string all =
                  data_of<cfg::SetOffloadsRequest>([](auto& m) { m.set_mask(0xFFFFFFFFFFFFFFFF); });
              if (read(h, expect_status(h, CfgCode::kSetOffloads, all, CfgStatus::kOk), reply)) {
                h.expect((reply.mask() & ~(kVnet | 1)) == 0, "no feature beyond those granted");
              }
              const std::string none =
                  data_of<cfg::SetOffloadsRequest>([](auto& m) { m.set_mask(0); });
              if (read(h, expect_status(h, CfgCode::kSetOffloads, none, CfgStatus::kOk), reply)) {
                h.expect((reply.mask() & kVnet) != 0, "the feature VNET still");
              }
            });
  group.add("set_mac", "P-CFG-15", "GET_MAC returns the address that SET_MAC has set.",
            [](Host& h) {
              if (!h.attach()) return;
              cfg::SetMacReply set;
              if (read(h, expect_status(h, CfgCode::kSetMac, mac_request(h.mac()), CfgStatus::kOk),
                       set)) {
                h.expect(set.mac() == h.mac(), "the address in the reply");
              }
              cfg::GetMacReply got;
              if (read(h, expect_status(h, CfgCode::kGetMac, {}, CfgStatus::kOk), got)) {
                h.expect(got.mac() == h.mac(), "the address that was set");
              }
            });
  group.add("refused_changes_nothing", "P-ERR-3", "A request that is refused changes nothing.",
            [](Host& h) {
              if (!h.attach()) return;
              expect_status(h, CfgCode::kSetMac, mac_request(h.mac()), CfgStatus::kOk);
              expect_status(h, CfgCode::kSetMac, mac_request("\x03\0\0\0\0\x01"),
                            CfgStatus::kBadValue);
              cfg::GetMacReply got;
              if (read(h, expect_status(h, CfgCode::kGetMac, {}, CfgStatus::kOk), got)) {
                h.expect(got.mac() == h.mac(), "the address from before");
              }
            });
}

void add_more_settings(Group& group) {
  group.add("reset", "P-CFG-20", "RESET restores the values of power-on.", [](Host& h) {
    if (!h.attach()) return;
    expect_status(h, CfgCode::kSetMac, mac_request(h.mac()), CfgStatus::kOk);
    expect_status(h, CfgCode::kReset, {}, CfgStatus::kOk);
    cfg::GetMacReply got;
    if (read(h, expect_status(h, CfgCode::kGetMac, {}, CfgStatus::kOk), got)) {
      h.expect(got.mac().empty(), "no address");
    }
  });
  group.add("set_mtu", "P-CFG-17", "SET_MTU within the limits is granted.", [](Host& h) {
    if (!h.attach()) return;
    cfg::SetMtuReply reply;
    if (read(h, expect_status(h, CfgCode::kSetMtu, mtu_request(1400), CfgStatus::kOk), reply)) {
      h.expect(reply.mtu() <= 1400, "an MTU that is not above the one requested");
    }
  });
}

void add_requests_of_target(Group& group) {
  Case& announce = group.add(
      "announce", "P-CFG-24", "After START the host is asked once to announce its addresses.",
      [](Host& h) {
        if (!h.attach() || !h.start_nic()) return;
        h.await_if(
            [](const Event& e) {
              if (e.kind != EventKind::kMessage || e.function() != Function::kCfgUtilRequest) {
                return false;
              }
              const auto request = messaging::CfgUtilRequest::parse(e.bytes);
              return request.has_value() && request->code == CfgCode::kAnnounce;
            },
            "ANNOUNCE");
      });
  announce.level = Level::kOurs;
  group.add("request_is_repeated", "P-CFG-2",
            "A request of the target without a reply is repeated.", [](Host& h) {
              if (!h.attach()) return;
              h.habits.replies_to_requests = false;
              if (!h.start_nic()) return;
              const auto is_request = [](const Event& e) {
                return e.kind == EventKind::kMessage && e.function() == Function::kCfgUtilRequest;
              };
              const auto first = h.await_if(is_request, {});
              if (!first) return h.outcome().skip("the target sends no request");
              const auto context = first->message.context;
              const auto second = h.await_if(
                  [&](const Event& e) { return is_request(e) && e.message.context == context; },
                  "the same request once more", kRepetition);
              if (second) {
                h.expect(std::ranges::equal(first->bytes, second->bytes), "the same bytes");
              }
            });
}

// docs/protocol/cfgutil.md#digest
void add_state(Group& group) {
  group.add(
      "digest", "P-CFG-21", "GET_STATE returns the digest of the settings in force.", [](Host& h) {
        if (!h.attach()) return;
        cfg::InitNicReply nic;
        if (!read(h, expect_status(h, CfgCode::kInitNic, init_request(kVnet), CfgStatus::kOk), nic))
          return;
        expect_status(h, CfgCode::kSetMac, mac_request(h.mac()), CfgStatus::kOk);
        cfg::SetMtuReply mtu;
        if (!read(h, expect_status(h, CfgCode::kSetMtu, mtu_request(1400), CfgStatus::kOk), mtu))
          return;
        const std::string no_filter =
            data_of<cfg::SetFilterRequest>([](auto& m) { m.mutable_filter(); });
        expect_status(h, CfgCode::kSetFilter, no_filter, CfgStatus::kOk);
        expect_status(h, CfgCode::kVlanAdd, vlan_request(100), CfgStatus::kOk);
        expect_status(h, CfgCode::kVlanAdd, vlan_request(7), CfgStatus::kOk);
        cfg::GetStateReply state;
        if (!read(h, expect_status(h, CfgCode::kGetState, {}, CfgStatus::kOk), state)) return;
        ByteVector settings(45);
        const std::string mac = h.mac();
        std::ranges::copy(base::as_bytes(mac), settings.begin());
        // Flags, and lists of unicast and multicast addresses: none. Two VLANs, in ascending order.
        base::store_be(&settings[15], std::uint32_t{2});
        base::store_be(&settings[19], std::uint16_t{7});
        base::store_be(&settings[21], std::uint16_t{100});
        base::store_be(&settings[25], mtu.mtu());
        base::store_be(&settings[29], std::uint64_t{nic.features_granted()});
        settings.resize(37);
        const auto digest = session::sha256({settings});
        h.expect(state.digest() == base::as_text(digest), "SHA-256 over what was set");
      });
  group.add("digest_changes", "P-CFG-21", "Another setting gives another digest.", [](Host& h) {
    if (!h.attach()) return;
    expect_status(h, CfgCode::kReset, {}, CfgStatus::kOk);
    cfg::GetStateReply before;
    cfg::GetStateReply after;
    if (!read(h, expect_status(h, CfgCode::kGetState, {}, CfgStatus::kOk), before)) return;
    expect_status(h, CfgCode::kVlanAdd, vlan_request(9), CfgStatus::kOk);
    if (!read(h, expect_status(h, CfgCode::kGetState, {}, CfgStatus::kOk), after)) return;
    h.expect(before.digest().size() == 32 && before.digest() != after.digest(), "another digest");
  });
}

void add_kept(Group& group) {
  Case& kept =
      group.add("settings_kept", "P-CFG-22",
                "A new connection of the same host has the settings of before.", [](Host& h) {
                  if (!h.attach() || !h.start_nic()) return;
                  expect_status(h, CfgCode::kVlanAdd, vlan_request(9), CfgStatus::kOk);
                  cfg::GetStateReply before, after;
                  if (!read(h, expect_status(h, CfgCode::kGetState, {}, CfgStatus::kOk), before))
                    return;
                  h.send(h.mgmt(fabric::MgmtKind::kDisc, h.transaction()));
                  h.await(EventKind::kMgmt, "DISC_REP");
                  if (!h.connect()) return;
                  if (!read(h, expect_status(h, CfgCode::kGetState, {}, CfgStatus::kOk), after))
                    return;
                  h.expect(before.digest() == after.digest(), "the digest of before");
                });
  kept.level = Level::kShould;
}

void add_queries(Group& group) {
  group.add("stats", "P-CFG-1", "QUERY_STATS names the groups, and GET_STATS serves each.",
            [](Host& h) {
              if (!h.attach()) return;
              cfg::QueryStatsReply groups;
              if (!read(h, expect_status(h, CfgCode::kQueryStats, {}, CfgStatus::kOk), groups))
                return;
              h.expect(groups.groups_size() >= 1, "one group at least");
              for (const std::string& name : groups.groups()) {
                const std::string data =
                    data_of<cfg::GetStatsRequest>([&](auto& m) { m.set_group(name); });
                cfg::GetStatsReply reply;
                if (!read(h, expect_status(h, CfgCode::kGetStats, data, CfgStatus::kOk), reply))
                  return;
                h.expect(reply.counters_size() > 0, "counters in the group " + name);
              }
            });
  group.add("version", "P-CFG-1", "GET_VERSION returns the version in use.", [](Host& h) {
    if (!h.attach()) return;
    cfg::GetVersionReply reply;
    if (read(h, expect_status(h, CfgCode::kGetVersion, {}, CfgStatus::kOk), reply)) {
      h.expect(reply.version() == 1 && reply.version_highest() >= 1, "version 1");
    }
  });
  group.add("link", "P-CFG-1", "GET_LINK returns the state of the NIC.", [](Host& h) {
    if (!h.attach()) return;
    cfg::GetLinkReply reply;
    if (read(h, expect_status(h, CfgCode::kGetLink, {}, CfgStatus::kOk), reply)) {
      h.expect(reply.has_link(), "a link state");
    }
  });
}

void add_filters(Group& group) {
  group.add("filter", "P-CFG-16", "SET_FILTER returns the filter in force.", [](Host& h) {
    if (!h.attach()) return;
    const std::string data = data_of<cfg::SetFilterRequest>(
        [](auto& m) { m.mutable_filter()->add_multicast("\x01\x43\x4F\x4E\x46\x0C"); });
    cfg::SetFilterReply reply;
    if (read(h, expect_status(h, CfgCode::kSetFilter, data, CfgStatus::kOk), reply)) {
      h.expect(reply.in_force().multicast_size() == 1, "the multicast address");
    }
  });
  group.add("promiscuous", "P-CFG-6", "Promiscuous mode is granted, or refused with its reason.",
            [](Host& h) {
              if (!h.attach()) return;
              const std::string data = data_of<cfg::SetFilterRequest>(
                  [](auto& m) { m.mutable_filter()->set_promiscuous(true); });
              const auto reply = request_cfg(h, CfgCode::kSetFilter, data);
              cfg::SetFilterReply filter;
              if (!read(h, reply, filter)) return;
              h.expect(
                  reply->status == CfgStatus::kOk || (reply->status == CfgStatus::kNotPermitted &&
                                                      filter.refusal() == cfg::PROMISCUOUS),
                  "status OK, or status 4 and the reason promiscuous");
            });
  group.add_of_two("address_of_another", "P-CFG-6,P-SEC-7",
                   "A host does not get the address of another.", [](Host& a, Host& b) {
                     if (!a.attach() || !a.start_nic() || !b.attach()) return;
                     const auto reply = request_cfg(b, CfgCode::kSetMac, mac_request(a.mac()));
                     cfg::SetMacReply refused;
                     if (!read(b, reply, refused)) return;
                     b.expect(reply->status == CfgStatus::kNotPermitted, "status 4");
                     b.expect(refused.refusal() == cfg::OF_ANOTHER_HOST, "the reason");
                   });
}

}  // namespace

std::vector<Case> nic_cases() {
  Group group("nic");
  add_nic(group);
  add_more_settings(group);
  add_requests_of_target(group);
  add_state(group);
  add_kept(group);
  add_queries(group);
  add_filters(group);
  return group.take();
}

}  // namespace splitnic::conformance
