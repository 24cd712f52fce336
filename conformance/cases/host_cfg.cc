// CfgUtil, with a host as the target: what it requests, what it makes of replies, and what it
// serves. docs/protocol/cfgutil.md
#include <algorithm>
#include <set>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgStatus;
using messaging::Function;

constexpr base::Duration kCfgRepeatMin = 250ms;  // 500 ms; the suite may have read the first late
constexpr base::Duration kOpenFor = 300ms;
constexpr std::size_t kOpenMax = 8;
constexpr std::size_t kTriesMax = 3;
constexpr base::Duration kTriesTime = 2500ms;  // of five, 500 ms apart

void add_cfg_requests(UnitGroup& group) {
  group.add("first_request", "P-CFG-12",
            "The host requests INIT_NIC with VNET, and START not before it.", [](Unit& u) {
              if (!u.connect()) return;
              const auto first = u.await_cfg(CfgCode::kInitNic, 0, "INIT_NIC");
              if (!first) return;
              const auto before = std::ranges::find_if(u.requests(), [](const SeenRequest& r) {
                return r.code == CfgCode::kInitNic || r.code == CfgCode::kStart;
              });
              u.expect(before->code == CfgCode::kInitNic, "INIT_NIC before START");
              cfg::InitNicRequest request;
              u.expect(request.ParseFromString(first->data), "data that parses");
              u.expect((request.features_wanted() & kFeatureVnet) != 0, "the feature VNET");
            });
  group.add("contexts", "P-MSG-4,P-POOL-15",
            "The contexts of requests differ, and have bit 63 clear.", [](Unit& u) {
              if (!u.attach()) return;
              std::set<std::uint64_t> contexts;
              for (const SeenRequest& request : u.requests()) {
                contexts.insert(request.context.value);
                u.expect(request.context.value >> 63 == 0, "bit 63 clear");
              }
              u.expect(contexts.size() == u.requests().size(), "contexts that differ");
            });
  group.add("set_mac", "P-CFG-15", "SET_MAC has a unicast address of 6 bytes other than 0.",
            [](Unit& u) {
              if (!u.attach()) return;
              for (const SeenRequest& seen : u.requests()) {
                if (seen.code != CfgCode::kSetMac) continue;
                cfg::SetMacRequest request;
                u.expect(request.ParseFromString(seen.data), "data that parses");
                u.expect(request.mac().size() == 6 && request.mac() != std::string(6, '\0'),
                         "6 bytes that are not 0");
                u.expect(!request.mac().empty() && (request.mac()[0] & 1) == 0, "unicast");
                return;
              }
              u.outcome().skip("the host has not sent SET_MAC");
            });
  group.add("set_mtu", "P-CFG-17", "SET_MTU has a value from 576 to 65535.", [](Unit& u) {
    if (!u.attach()) return;
    for (const SeenRequest& seen : u.requests()) {
      if (seen.code != CfgCode::kSetMtu) continue;
      cfg::SetMtuRequest request;
      u.expect(request.ParseFromString(seen.data), "data that parses");
      u.expect(request.mtu() >= 576 && request.mtu() <= 65535, "an MTU from 576 to 65535");
      return;
    }
    u.outcome().skip("the host has not sent SET_MTU");
  });
  group.add("start_each_time", "P-CFG-14", "Each connection sends START for itself.", [](Unit& u) {
    if (!u.attach() || !u.start_nic()) return;
    u.leave();
    const std::size_t seen = u.requests().size();
    if (u.connect()) u.await_cfg(CfgCode::kStart, seen, "START on the next connection");
  });
}

void add_repetitions(UnitGroup& group) {
  group.add("open_requests", "P-CFG-2", "At most 8 requests are open.", [](Unit& u) {
    u.habits.replies_to_requests = false;
    if (!u.connect()) return;
    u.listen(kOpenFor);
    std::set<std::uint64_t> contexts;
    for (const SeenRequest& request : u.requests()) contexts.insert(request.context.value);
    u.expect(!contexts.empty() && contexts.size() <= kOpenMax, "1 to 8 requests");
  });
  group.add("request_is_repeated", "P-CFG-2",
            "A request without a reply is repeated with the same bytes after 500 ms, 3 tries.",
            [](Unit& u) {
              u.habits.replies_to_requests = false;
              if (!u.connect()) return;
              std::vector<SeenRequest> tries;
              for (std::size_t i = 0; i < kTriesMax && u.is_good(); ++i) {
                const std::size_t seen = u.requests().size();
                const auto next = u.await_cfg(CfgCode::kInitNic, i == 0 ? 0 : seen,
                                              "INIT_NIC, and each of its repetitions");
                if (next) tries.push_back(*next);
              }
              for (std::size_t i = 1; i < tries.size(); ++i) {
                u.expect(tries[i].message == tries[0].message, "the same bytes");
                u.expect(tries[i].at - tries[i - 1].at >= kCfgRepeatMin, "500 ms between tries");
              }
              u.habits.replies_to_requests = true;
              if (u.is_good()) u.reply(tries[0]);
              expect_ignored(u, "a connection that serves");
            });
  // The host may end the connection then, or make a new request.
  group.add_harmful("request_is_given_up", "P-CFG-2",
                    "A request without a reply is not repeated after its third try.", [](Unit& u) {
                      u.habits.replies_to_requests = false;
                      if (!u.connect()) return;
                      const auto first = u.await_cfg(CfgCode::kInitNic, 0, "INIT_NIC");
                      if (!first) return;
                      u.listen(kTriesTime);
                      const auto tries = std::ranges::count_if(
                          u.requests(),
                          [&](const SeenRequest& r) { return r.message == first->message; });
                      u.expect(static_cast<std::size_t>(tries) == kTriesMax, "3 tries");
                      u.habits.replies_to_requests = true;
                    });
}

// The INIT_NIC behind the first one, whatever the host has requested before that. REQUIRES that the
// first one has come.
std::optional<SeenRequest> await_second_init(Unit& u, std::string_view expected) {
  const auto& all = u.requests();
  const auto first = std::ranges::find(all, CfgCode::kInitNic, &SeenRequest::code);
  const auto seen = static_cast<std::size_t>(first - all.begin()) + 1;
  return u.await_cfg(CfgCode::kInitNic, seen, expected);
}

// INIT_NIC gets this in place of its reply: the connection stays.
using Respond = std::function<void(Unit& u, const SeenRequest& request)>;
void add_reply(UnitGroup& group, const std::string& name, const std::string& clause,
               const std::string& description, bool is_repeated, Respond respond) {
  group.add(name, clause, description, [is_repeated, respond = std::move(respond)](Unit& u) {
    bool is_done = false;
    u.on_request = [&](const SeenRequest& request) {
      if (is_done || request.code != CfgCode::kInitNic) return false;
      is_done = true;
      respond(u, request);
      return true;
    };
    if (!u.connect()) return;
    const auto first = u.await_cfg(CfgCode::kInitNic, 0, "INIT_NIC");
    if (!first) return;
    if (is_repeated) {
      const auto again = await_second_init(u, "INIT_NIC again");
      if (again) u.expect(again->context == first->context, "the same request");
    }
    expect_ignored(u, "a connection that stays");
  });
}

void add_statuses(UnitGroup& group) {
  for (const auto status :
       {CfgStatus::kUnknown, CfgStatus::kBadSize, CfgStatus::kBadValue, CfgStatus::kNotPermitted,
        CfgStatus::kDeviceError, CfgStatus::kVersion}) {
    add_reply(group, "refused_" + std::to_string(static_cast<unsigned>(status)), "P-CFG-34,P-ERR-3",
              "INIT_NIC that is refused with status " + std::string(messaging::name(status)) +
                  " does not end the connection.",
              false,
              [status](Unit& u, const SeenRequest& request) { u.reply(request, status, {}); });
  }
  group.add("busy_unit", "P-CFG-7", "After status 5 the host may repeat with a new context.",
            [](Unit& u) {
              bool is_done = false;
              u.on_request = [&](const SeenRequest& request) {
                if (is_done || request.code != CfgCode::kInitNic) return false;
                is_done = true;
                u.reply(request, CfgStatus::kBusy, {});
                return true;
              };
              if (!u.connect()) return;
              const auto first = u.await_cfg(CfgCode::kInitNic, 0, "INIT_NIC");
              if (!first) return;
              const auto again = await_second_init(u, {});
              if (again) u.expect(again->context != first->context, "a new context");
              expect_ignored(u, "a connection that stays");
            });
}

void add_bad_cfg_replies(UnitGroup& group) {
  add_reply(group, "reply_other_context", "P-CFG-8",
            "A reply with another context is no reply: the request is repeated.", true,
            [](Unit& u, const SeenRequest& request) {
              SeenRequest other = request;
              other.context.value ^= 2;
              u.reply(other);
            });
  add_reply(group, "reply_cut_off", "P-MSG-2",
            "A reply whose size is beyond its end is dropped: the request is repeated.", true,
            [](Unit& u, const SeenRequest& request) {
              send_message(u, message(Function::kCfgUtilReply, request.context,
                                      {static_cast<std::uint32_t>(request.code), 0, 64, 1}));
            });
  add_reply(group, "reply_other_version", "P-MSG-9",
            "A reply of another version is dropped: the request is repeated.", true,
            [](Unit& u, const SeenRequest& request) {
              ByteVector reply = message(Function::kCfgUtilReply, request.context,
                                         {static_cast<std::uint32_t>(request.code), 0, 0});
              reply[3] = std::byte{2};
              send_message(u, reply);
            });
  add_reply(group, "reply_no_protobuf", "P-CFG-34,P-LIM-1",
            "Data that is no Protobuf message does not end the connection.", false,
            [](Unit& u, const SeenRequest& request) {
              u.reply(request, CfgStatus::kOk, "\xFF\xFF\xFF\xFF\xFF");
            });
  add_reply(group, "reply_empty", "P-CFG-34,P-LIM-1",
            "An empty reply to INIT_NIC changes nothing else.", false,
            [](Unit& u, const SeenRequest& request) { u.reply(request, CfgStatus::kOk, {}); });
  add_reply(group, "reply_mad_values", "P-LIM-1",
            "Values out of range in the reply to INIT_NIC do not end the connection.", false,
            [](Unit& u, const SeenRequest& request) {
              cfg::InitNicReply reply;
              reply.set_mac(std::string(300, '\xFF'));
              reply.set_mtu(0xFFFFFFFF);
              reply.set_mtu_min(0xFFFFFFFF);
              reply.set_mtu_max(1);
              reply.set_features_granted(~std::uint64_t{0});
              reply.set_queues_max(0xFFFFFFFF);
              u.reply(request, CfgStatus::kOk, reply.SerializeAsString());
            });
  add_reply(group, "reply_unknown_field", "P-CFG-5", "Unknown fields in a reply are skipped.",
            false, [](Unit& u, const SeenRequest& request) {
              cfg::InitNicReply reply;
              reply.set_mac(u.mac());
              reply.set_mtu(1500);
              reply.set_mtu_min(576);
              reply.set_mtu_max(1500);
              reply.set_features_granted(kFeatureVnet);
              u.reply(request, CfgStatus::kOk, reply.SerializeAsString() + "\xF8\x7F\x05");
            });
  add_reply(group, "reply_doubled", "P-CFG-8", "A reply that comes twice is taken once.", false,
            [](Unit& u, const SeenRequest& request) {
              u.reply(request);
              u.reply(request);
            });
}

// A request to the host gets this status.
void add_served(UnitGroup& group, const std::string& name, const std::string& clause,
                const std::string& description, CfgCode code, const std::string& data,
                CfgStatus status) {
  group.add(name, clause, description, [=](Unit& u) {
    if (!u.attach()) return;
    expect_status(u, code, data, status);
    expect_ignored(u, "a connection that stays");
  });
}

std::string event_of(std::uint64_t generation, bool is_up) {
  cfg::EventRequest event;
  event.set_generation(generation);
  event.mutable_link()->set_up(is_up);
  event.mutable_link()->set_speed_mbps(1000);
  event.set_mtu(1500);
  return event.SerializeAsString();
}

void add_served_requests(UnitGroup& group) {
  for (const CfgCode code :
       {CfgCode::kInitNic, CfgCode::kSetMac, CfgCode::kStart, CfgCode::kReset, CfgCode::kGetStats,
        CfgCode::kGetState, static_cast<CfgCode>(0x00010063), static_cast<CfgCode>(0x00630001)}) {
    add_served(group, "host_code_" + std::to_string(static_cast<std::uint32_t>(code)), "P-CFG-10",
               "A host replies with status 1 to " + std::string(messaging::name(code)) +
                   ", which it does not serve.",
               code, {}, CfgStatus::kUnknown);
  }
  add_served(group, "event", "P-CFG-23", "EVENT gets status 0.", CfgCode::kEvent, event_of(1, true),
             CfgStatus::kOk);
  add_served(group, "event_garbage", "P-CFG-5",
             "EVENT with data that does not parse gets status 3.", CfgCode::kEvent, "\xFF\xFF\xFF",
             CfgStatus::kBadValue);
  add_served(group, "announce", "P-CFG-24", "ANNOUNCE gets status 0.", CfgCode::kAnnounce, {},
             CfgStatus::kOk);
  group.add("event_old", "P-CFG-23", "EVENT of an older generation gets status 0 too.",
            [](Unit& u) {
              if (!u.attach()) return;
              for (const std::uint64_t generation : {9U, 4U, 9U}) {
                expect_status(u, CfgCode::kEvent, event_of(generation, true), CfgStatus::kOk);
              }
            });
  group.add("event_of_the_cable", "P-CFG-23", "The LAN may lose its link and have it again.",
            [](Unit& u) {
              if (!u.attach()) return;
              expect_status(u, CfgCode::kEvent, event_of(1, false), CfgStatus::kOk);
              expect_status(u, CfgCode::kEvent, event_of(2, true), CfgStatus::kOk);
              expect_ignored(u, "a connection that stays");
            });
}

void add_utilities(UnitGroup& group) {
  for (const std::size_t bytes : {0U, 1U, 200U, 3000U}) {
    group.add("host_echo_" + std::to_string(bytes), "P-CFG-25",
              "ECHO of " + std::to_string(bytes) + " bytes returns them.", [bytes](Unit& u) {
                if (!u.attach()) return;
                cfg::EchoRequest echo;
                echo.set_data(std::string(bytes, 'e'));
                cfg::EchoReply reply;
                const auto got =
                    expect_status(u, CfgCode::kEcho, echo.SerializeAsString(), CfgStatus::kOk);
                if (got && read(u, got, reply)) u.expect(reply.data() == echo.data(), "the data");
              });
  }
  group.add("host_version", "P-CFG-10", "GET_VERSION returns a range that holds version 1.",
            [](Unit& u) {
              if (!u.attach()) return;
              cfg::GetVersionReply reply;
              const auto got = expect_status(u, CfgCode::kGetVersion, {}, CfgStatus::kOk);
              if (got && read(u, got, reply)) {
                u.expect(reply.version() <= 1 && reply.version_highest() >= 1, "version 1");
              }
            });
  group.add("host_request_other_version", "P-CFG-4", "A request of another version gets status 7.",
            [](Unit& u) {
              if (!u.attach()) return;
              const auto context = u.next_context();
              ByteVector request = echo_message(context, 8);
              request[3] = std::byte{2};
              send_message(u, request);
              const auto reply = await_reply(u, context);
              if (reply) u.expect(reply->status == CfgStatus::kVersion, "status 7");
            });
  group.add(
      "host_request_other_size", "P-CFG-4",
      "A request whose size does not match its length gets status 2.", [](Unit& u) {
        if (!u.attach()) return;
        const auto context = u.next_context();
        send_message(u, message(Function::kCfgUtilRequest, context, {0x00020005, 400, 0x0A016100}));
        const auto reply = await_reply(u, context);
        if (reply) u.expect(reply->status == CfgStatus::kBadSize, "status 2");
      });
  group.add("host_request_twice", "P-CFG-3",
            "A repeated context gets the reply that it had, and is not executed again.",
            [](Unit& u) {
              if (!u.attach()) return;
              const auto context = u.next_context();
              cfg::EchoRequest first, second;
              first.set_data("first");
              second.set_data("second");
              send_request(u, context, CfgCode::kEcho, first.SerializeAsString());
              if (!await_reply(u, context)) return;
              send_request(u, context, CfgCode::kEcho, second.SerializeAsString());
              const auto reply = await_reply(u, context);
              cfg::EchoReply echo;
              if (read(u, reply, echo)) u.expect(echo.data() == "first", "the first reply");
            });
}

}  // namespace

std::vector<Case> host_cfg_cases() {
  UnitGroup group("cfg");
  add_cfg_requests(group);
  add_repetitions(group);
  add_statuses(group);
  add_bad_cfg_replies(group);
  add_served_requests(group);
  add_utilities(group);
  return group.take();
}

}  // namespace splitnic::conformance
