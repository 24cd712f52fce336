// CfgUtil requests. docs/protocol/cfgutil.md#cfgutil, docs/nic_service.md
#include <algorithm>
#include <array>

#include "conformance/case.h"
#include "conformance/cases/cfg_requests.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgStatus;
using messaging::Function;

// One request with this data gets this status, and the connection stays.
void add_status(Group& group, const std::string& name, const std::string& clause,
                const std::string& description, CfgCode code, const std::string& data,
                CfgStatus status) {
  group.add(name, clause, description, [=](Host& h) {
    if (!h.attach()) return;
    expect_status(h, code, data, status);
    expect_ignored(h, "a connection that stays");
  });
}

void add_frame(Group& group) {
  group.add("echo", "P-CFG-25", "ECHO returns its data.", [](Host& h) {
    if (!h.attach()) return;
    const std::string data =
        data_of<cfg::EchoRequest>([](auto& m) { m.set_data("what was sent\x01\xFF"); });
    cfg::EchoReply reply;
    if (read(h, expect_status(h, CfgCode::kEcho, data, CfgStatus::kOk), reply)) {
      h.expect(reply.data() == "what was sent\x01\xFF", "the same data");
    }
  });
  group.add("echo_empty", "P-CFG-25", "ECHO without data is served.", [](Host& h) {
    if (h.attach()) expect_status(h, CfgCode::kEcho, {}, CfgStatus::kOk);
  });
  group.add("echo_too_long", "P-CFG-9",
            "A reply that would be longer than MSG_MAX has status 6 and no data.", [](Host& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              std::size_t bytes = h.agreed().message_max;
              ByteVector longest = echo_message(context, bytes);
              while (longest.size() > h.agreed().message_max)
                longest = echo_message(context, --bytes);
              send_message(h, longest);
              const auto reply = await_reply(h, context);
              if (!reply) return;
              h.expect(reply->status == CfgStatus::kDeviceError && reply->data.empty(),
                       "status 6 without data");
            });
  group.add("context_zero", "P-CFG-3", "A request with Transaction Context 0 gets a reply.",
            [](Host& h) {
              if (!h.attach()) return;
              send_request(h, messaging::kUnsolicited, CfgCode::kGetVersion, {});
              const auto reply = await_reply(h, messaging::kUnsolicited);
              if (reply) h.expect(reply->status == CfgStatus::kOk, "status OK");
            });
  group.add("context_large", "P-MSG-3", "The reply copies all 64 bits of the Transaction Context.",
            [](Host& h) {
              if (!h.attach()) return;
              const messaging::TransactionContext context(0xFFFFFFFFFFFFFFFE);
              send_request(h, context, CfgCode::kGetVersion, {});
              await_reply(h, context);
            });
  group.add("repeated", "P-CFG-3",
            "A repeated request gets the reply once more and is not executed.", [](Host& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              send_request(h, context, CfgCode::kSetMac, mac_request(h.mac()));
              const auto first = await_reply(h, context);
              expect_status(h, CfgCode::kReset, {}, CfgStatus::kOk);
              send_request(h, context, CfgCode::kSetMac, mac_request(h.mac()));
              const auto second = await_reply(h, context);
              if (!first || !second) return;
              h.expect(first->status == second->status &&
                           base::as_text(first->data) == base::as_text(second->data),
                       "the same reply");
              cfg::GetMacReply mac;
              if (read(h, expect_status(h, CfgCode::kGetMac, {}, CfgStatus::kOk), mac)) {
                h.expect(mac.mac().empty(), "no second execution: RESET has removed the address");
              }
            });
}

void add_sizes(Group& group) {
  group.add("other_version", "P-CFG-4", "A request of another version gets status 7.", [](Host& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    ByteVector request = message(Function::kCfgUtilRequest, context, {0x00020005, 0});
    request[3] = std::byte{2};
    send_message(h, request);
    const auto reply = await_reply(h, context);
    if (reply) h.expect(reply->status == CfgStatus::kVersion, "status 7");
  });
  group.add("header_alone", "P-CFG-4", "A request of 12 bytes gets status 2 and the code 0.",
            [](Host& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              send_message(h, message(Function::kCfgUtilRequest, context, {}));
              const auto reply = await_reply(h, context);
              if (!reply) return;
              h.expect(reply->status == CfgStatus::kBadSize, "status 2");
              h.expect(reply->code == CfgCode{}, "family and code 0");
            });
  for (const std::uint32_t size : {1U, 9U, 0xFFFFFFFFU}) {
    group.add("size_" + std::to_string(size), "P-CFG-4",
              "A request whose size is not that of its data gets status 2.", [size](Host& h) {
                if (!h.attach()) return;
                const auto context = h.next_context();
                send_message(h, message(Function::kCfgUtilRequest, context,
                                        {0x00020005, size, 0x0A040102, 0x03040000}));
                const auto reply = await_reply(h, context);
                if (reply) h.expect(reply->status == CfgStatus::kBadSize, "status 2");
              });
  }
}

void add_open_requests(Group& group) {
  group.add("eight_open", "P-CFG-2,P-CH-10,P-LIM-6", "Eight requests at once each get a reply.",
            [](Host& h) {
              if (!h.attach()) return;
              std::vector<messaging::TransactionContext> contexts;
              for (int i = 0; i < 8; ++i) {
                contexts.push_back(h.next_context());
                send_request(h, contexts.back(), CfgCode::kGetLink, {});
              }
              for (const auto context : contexts) await_reply(h, context);
            });
}

void add_busy(Group& group) {
  Case& busy =
      group.add("busy", "P-CFG-7",
                "Requests beyond the limit get status 5, and ECHO does not count.", [](Host& h) {
                  if (!h.attach()) return;
                  bool is_busy = false;
                  for (int batch = 0; batch < 10 && h.is_good(); ++batch) {
                    std::array<messaging::TransactionContext, 6> contexts{};
                    for (auto& context : contexts) {
                      context = h.next_context();
                      send_request(h, context, CfgCode::kGetLink, {});
                    }
                    for (const auto context : contexts) {
                      const auto reply = await_reply(h, context);
                      is_busy |= reply && reply->status == CfgStatus::kBusy;
                    }
                  }
                  h.expect(is_busy, "status 5 for one of 60 requests at once");
                  expect_status(h, CfgCode::kEcho, {}, CfgStatus::kOk);
                });
  busy.level = Level::kOurs;
}

void add_values(Group& group) {
  const auto code = [](std::uint32_t value) { return static_cast<CfgCode>(value); };
  add_status(group, "code_unknown", "P-CFG-1", "An unknown code gets status 1.", code(0x00010063),
             {}, CfgStatus::kUnknown);
  add_status(group, "family_unknown", "P-CFG-1", "An unknown family gets status 1.",
             code(0x00070001), {}, CfgStatus::kUnknown);
  add_status(group, "code_zero", "P-CFG-1", "The code 0 gets status 1.", code(0), {},
             CfgStatus::kUnknown);
  add_status(group, "event_to_unit", "P-CFG-10", "EVENT is not for the I/O unit: status 1.",
             CfgCode::kEvent, {}, CfgStatus::kUnknown);
  add_status(group, "garbage", "P-CFG-5", "Data that is no Protobuf gets status 3.",
             CfgCode::kSetMac, "\xFF\xFF\xFF", CfgStatus::kBadValue);
  add_status(group, "wrong_type", "P-CFG-5", "A field of another type gets status 3.",
             CfgCode::kSetMac, "\x08\x01", CfgStatus::kBadValue);
  add_status(group, "unknown_field", "P-CFG-5", "A field that is not known is skipped.",
             CfgCode::kEcho, "\xF8\x7F\x05", CfgStatus::kOk);
}

// Returns the reply to a request that an I/O unit need not serve, or nothing: the case is over.
std::optional<messaging::CfgUtilReply> ask_option(Host& h, CfgCode code, const std::string& data) {
  if (!h.attach()) return std::nullopt;
  auto reply = request_cfg(h, code, data);
  if (reply && reply->status == CfgStatus::kUnknown) {
    h.outcome().skip("the I/O unit does not serve this option (status 1)");
    return std::nullopt;
  }
  return reply;
}

// A value out of range gets status 3 where the option is served.
void add_bad_option(Group& group, const std::string& name, const std::string& clause,
                    const std::string& description, CfgCode code, const std::string& data) {
  group.add(name, clause, description, [=](Host& h) {
    const auto reply = ask_option(h, code, data);
    if (!reply) return;
    if (reply->status != CfgStatus::kBadValue) {
      h.outcome().miss("status 3", "status " + std::string(messaging::name(reply->status)));
    }
    expect_ignored(h, "a connection that stays");
  });
}

// A number in force, as requested or rounded.
bool is_rounded(std::uint32_t requested, std::uint32_t in_force) {
  return 2 * in_force >= requested && in_force <= 2 * requested;
}

void add_delivery(Group& group) {
  const auto queues = [](std::uint32_t count) {
    return data_of<cfg::SetQueuesRequest>([&](auto& m) { m.set_queues(count); });
  };
  group.add("set_queues", "P-CFG-29,P-CFG-32",
            "SET_QUEUES replies with no more than was requested.", [queues](Host& h) {
              const auto got = ask_option(h, CfgCode::kSetQueues, queues(2));
              cfg::SetQueuesReply reply;
              if (got && read(h, got, reply)) {
                h.expect(reply.queues() == 1 || reply.queues() == 2, "1 or 2 queues");
              }
            });
  add_bad_option(group, "set_queues_zero", "P-CFG-29", "SET_QUEUES of 0 gets status 3.",
                 CfgCode::kSetQueues, {});
  add_bad_option(group, "set_queues_nine", "P-CFG-29", "SET_QUEUES of 9 gets status 3.",
                 CfgCode::kSetQueues, queues(9));
  group.add(
      "set_coalesce", "P-CFG-30",
      "SET_COALESCE replies with the values in force, as requested or rounded.", [](Host& h) {
        const auto got =
            ask_option(h, CfgCode::kSetCoalesce, data_of<cfg::SetCoalesceRequest>([](auto& m) {
                         m.set_microseconds(50);
                         m.set_frames(16);
                       }));
        cfg::SetCoalesceReply reply;
        if (got && read(h, got, reply)) {
          h.expect(is_rounded(50, reply.microseconds()) && is_rounded(16, reply.frames()),
                   "half to twice of the values");
          h.expect(reply.bytes() == 0 && !reply.adaptive(), "no limit of bytes, and not adaptive");
        }
      });
  add_bad_option(group, "set_coalesce_long", "P-CFG-30",
                 "SET_COALESCE of more than 100 ms gets status 3.", CfgCode::kSetCoalesce,
                 data_of<cfg::SetCoalesceRequest>([](auto& m) { m.set_microseconds(100'001); }));
  add_bad_option(group, "set_coalesce_frames", "P-CFG-30",
                 "SET_COALESCE of more than 1024 frames gets status 3.", CfgCode::kSetCoalesce,
                 data_of<cfg::SetCoalesceRequest>([](auto& m) { m.set_frames(1025); }));
  add_bad_option(group, "set_coalesce_bytes", "P-CFG-30",
                 "SET_COALESCE of more than 1048576 bytes gets status 3.", CfgCode::kSetCoalesce,
                 data_of<cfg::SetCoalesceRequest>([](auto& m) { m.set_bytes(1'048'577); }));
  group.add(
      "set_qos", "P-CFG-31",
      "SET_QOS on a connection with one queue has no level of its map in force.", [](Host& h) {
        const auto got =
            ask_option(h, CfgCode::kSetQos, data_of<cfg::SetQosRequest>([](auto& m) {
                         m.set_priorities(std::string(5, '\xFF') + '\x03' + std::string(2, '\xFF'));
                       }));
        cfg::SetQosReply reply;
        if (!got || got->status == CfgStatus::kNotPermitted || !read(h, got, reply)) return;
        const auto is_mapped = [](char level) { return level != '\xFF'; };
        h.expect(std::ranges::none_of(reply.priorities(), is_mapped), "no level in force");
      });
  add_bad_option(group, "set_qos_short", "P-CFG-31", "SET_QOS of 7 priorities gets status 3.",
                 CfgCode::kSetQos,
                 data_of<cfg::SetQosRequest>([](auto& m) { m.set_priorities(std::string(7, 1)); }));
  add_bad_option(group, "set_qos_level", "P-CFG-31", "SET_QOS of a level of 16 gets status 3.",
                 CfgCode::kSetQos, data_of<cfg::SetQosRequest>([](auto& m) {
                   m.set_priorities(std::string(8, 16));
                 }));
  add_bad_option(group, "set_qos_four_levels", "P-CFG-31",
                 "SET_QOS with four different levels gets status 3.", CfgCode::kSetQos,
                 data_of<cfg::SetQosRequest>(
                     [](auto& m) { m.set_priorities("\x01\x02\x03\x04\xFF\xFF\xFF\xFF"); }));
}

void add_list(Group& group) {
  group.add("list_nics", "P-CFG-33", "LIST_NICS has the NIC of the connection.", [](Host& h) {
    const auto got = ask_option(h, CfgCode::kListNics, {});
    cfg::ListNicsReply reply;
    if (!got || !read(h, got, reply)) return;
    h.expect(std::ranges::count_if(reply.nics(), [](const auto& n) { return n.in_use(); }) == 1,
             "one NIC that is in use");
    h.expect(std::ranges::all_of(reply.nics(), [](const auto& n) { return n.mac().size() == 6; }),
             "addresses of 6 bytes");
  });
}

void add_nic_values(Group& group) {
  add_status(group, "mac_multicast", "P-CFG-15", "SET_MAC of a group address gets status 3.",
             CfgCode::kSetMac, mac_request("\x03\x43\x4F\x4E\x46\x0C"), CfgStatus::kBadValue);
  add_status(group, "mac_zero", "P-CFG-15", "SET_MAC of the zero address gets status 3.",
             CfgCode::kSetMac, mac_request(std::string_view("\0\0\0\0\0\0", 6)),
             CfgStatus::kBadValue);
  add_status(group, "mac_short", "P-CFG-15", "SET_MAC of 5 bytes gets status 3.", CfgCode::kSetMac,
             mac_request("\x02\x43\x4F\x4E\x46"), CfgStatus::kBadValue);
  add_status(group, "mac_none", "P-CFG-15", "SET_MAC without an address gets status 3.",
             CfgCode::kSetMac, {}, CfgStatus::kBadValue);
  add_status(group, "mtu_zero", "P-CFG-17", "SET_MTU of 0 gets status 3.", CfgCode::kSetMtu,
             mtu_request(0), CfgStatus::kBadValue);
  add_status(group, "mtu_large", "P-CFG-17", "SET_MTU of 100000 gets status 3.", CfgCode::kSetMtu,
             mtu_request(100000), CfgStatus::kBadValue);
  add_status(group, "vlan_4095", "P-CFG-18", "VLAN_ADD of 4095 gets status 3.", CfgCode::kVlanAdd,
             vlan_request(4095), CfgStatus::kBadValue);
  add_status(group, "vlan_del_4095", "P-CFG-18", "VLAN_DEL of 4095 gets status 3.",
             CfgCode::kVlanDel, vlan_request(4095), CfgStatus::kBadValue);
  add_status(group, "pvid_4096", "P-CFG-18", "SET_PVID of 4096 gets status 3.", CfgCode::kSetPvid,
             vlan_request(4096), CfgStatus::kBadValue);
  add_status(group, "no_vnet", "P-CFG-12", "INIT_NIC without the feature VNET gets status 3.",
             CfgCode::kInitNic, init_request(1), CfgStatus::kBadValue);
  add_status(group, "start_before_init", "P-CFG-12", "START before INIT_NIC gets status 4.",
             CfgCode::kStart, {}, CfgStatus::kNotPermitted);
  add_status(group, "stats_unknown", "P-CFG-26", "GET_STATS of an unknown group gets status 3.",
             CfgCode::kGetStats, data_of<cfg::GetStatsRequest>([](auto& m) { m.set_group("x"); }),
             CfgStatus::kBadValue);
  add_status(group, "clear_unknown", "P-CFG-26", "CLEAR_STATS of an unknown group gets status 3.",
             CfgCode::kClearStats,
             data_of<cfg::ClearStatsRequest>([](auto& m) { m.set_group("x"); }),
             CfgStatus::kBadValue);
  add_status(group, "filter_bad_unicast", "P-CFG-5",
             "SET_FILTER with a group address as unicast gets status 3.", CfgCode::kSetFilter,
             data_of<cfg::SetFilterRequest>(
                 [](auto& m) { m.mutable_filter()->add_unicast("\x01\x43\x4F\x4E\x46\x0C"); }),
             CfgStatus::kBadValue);
  add_status(group, "filter_bad_multicast", "P-CFG-5",
             "SET_FILTER with a unicast address as multicast gets status 3.", CfgCode::kSetFilter,
             data_of<cfg::SetFilterRequest>(
                 [](auto& m) { m.mutable_filter()->add_multicast("\x02\x43\x4F\x4E\x46\x0C"); }),
             CfgStatus::kBadValue);
}

}  // namespace

std::vector<Case> cfg_cases() {
  Group group("cfg");
  add_frame(group);
  add_sizes(group);
  add_open_requests(group);
  add_busy(group);
  add_values(group);
  add_delivery(group);
  add_list(group);
  add_nic_values(group);
  return group.take();
}

}  // namespace splitnic::conformance
