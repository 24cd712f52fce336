// CfgUtil of the suite's I/O unit: a NIC that grants what it is asked for, within the protocol.
// docs/protocol/cfgutil.md#codes
#include <algorithm>

#include "conformance/messages.h"
#include "conformance/unit.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgStatus;

constexpr std::uint32_t kMtu = 1500;
constexpr std::uint32_t kMtuMin = 576;
constexpr std::uint32_t kFilterEntries = 64;
constexpr std::uint32_t kLinkMbps = 1000;
constexpr std::size_t kRequestsMax = 1000;  // more are a flood

template <class Message>
Message read(const std::string& data) {
  Message out;
  out.ParseFromString(data);
  return out;
}

void fill(cfg::LinkState& link) {
  link.set_up(true);
  link.set_speed_mbps(kLinkMbps);
  link.set_full_duplex(true);
}

// The data of the reply; nothing if no I/O unit serves the code.
std::optional<std::string> data_of(const SeenRequest& request, const std::string& mac) {
  switch (request.code) {
    case CfgCode::kInitNic: {
      cfg::InitNicReply reply;
      reply.set_mac(mac);
      reply.set_mtu(kMtu);
      reply.set_mtu_min(kMtuMin);
      reply.set_mtu_max(kMtu);
      fill(*reply.mutable_link());
      reply.set_features_granted(read<cfg::InitNicRequest>(request.data).features_wanted() &
                                 kFeatureVnet);
      reply.set_filter_entries_max(kFilterEntries);
      reply.set_queues_max(1);
      return reply.SerializeAsString();
    }
    case CfgCode::kSetMac:
    case CfgCode::kEcho:  // the reply has the fields of the request
    case CfgCode::kSetCoalesce:
      return request.data;
    case CfgCode::kGetMac: {
      cfg::GetMacReply reply;
      reply.set_mac(mac);
      return reply.SerializeAsString();
    }
    case CfgCode::kSetFilter: {
      cfg::SetFilterReply reply;
      *reply.mutable_in_force() = read<cfg::SetFilterRequest>(request.data).filter();
      return reply.SerializeAsString();
    }
    case CfgCode::kSetMtu: {
      cfg::SetMtuReply reply;
      reply.set_mtu(std::min(read<cfg::SetMtuRequest>(request.data).mtu(), kMtu));
      return reply.SerializeAsString();
    }
    case CfgCode::kSetOffloads: {
      cfg::SetOffloadsReply reply;
      reply.set_mask(kFeatureVnet);
      return reply.SerializeAsString();
    }
    case CfgCode::kGetLink: {
      cfg::GetLinkReply reply;
      fill(*reply.mutable_link());
      return reply.SerializeAsString();
    }
    case CfgCode::kGetVersion: {
      cfg::GetVersionReply reply;
      reply.set_version(1);
      reply.set_version_highest(1);
      return reply.SerializeAsString();
    }
    case CfgCode::kGetState: {  // of other settings than the host has
      cfg::GetStateReply reply;
      reply.set_digest(std::string(32, '\x01'));
      return reply.SerializeAsString();
    }
    case CfgCode::kStart:
    case CfgCode::kStop:
    case CfgCode::kReset:
    case CfgCode::kVlanAdd:
    case CfgCode::kVlanDel:
    case CfgCode::kSetPvid:
    case CfgCode::kGetStats:
    case CfgCode::kQueryStats:
    case CfgCode::kClearStats:
      return std::string();
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Unit::take_cfg_request(const Event& event) {
  const auto request = messaging::CfgUtilRequest::parse(event.bytes);
  if (!rule(request.has_value(), "CfgUtilRequest that parses")) return false;
  if (requests_.size() == kRequestsMax) {
    outcome().fail("a host that does not flood", inbox().last());
    return false;
  }
  requests_.push_back({now(), request->context, request->code,
                       ByteVector(event.bytes.begin(), event.bytes.end()),
                       std::string(base::as_text(request->data))});
  const SeenRequest last = requests_.back();
  const bool is_done = on_request && on_request(last);
  if (!is_done && habits.replies_to_requests) reply(last);
  return false;
}

void Unit::reply(const SeenRequest& request, CfgStatus status, std::string_view data) {
  ByteVector message(messaging::CfgUtilReply::bytes(data.size()));
  messaging::CfgUtilReply{request.context, request.code, status, base::as_bytes(data)}.emit(
      message);
  send_message(*this, message);
}

void Unit::reply(const SeenRequest& request) {
  const auto data = data_of(request, mac());
  reply(request, data ? CfgStatus::kOk : CfgStatus::kUnknown, data.value_or(""));
}

bool Unit::start_nic() {
  const bool is_started = std::ranges::any_of(
      requests_, [](const SeenRequest& r) { return r.code == CfgCode::kStart; });
  if (!is_started) outcome().skip("the host has not sent START: its interface must be up");
  return is_good();
}

}  // namespace splitnic::conformance
