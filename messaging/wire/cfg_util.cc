#include "messaging/wire/cfg_util.h"

#include <array>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::messaging {
namespace {

constexpr auto kMacConfigNames = std::to_array<std::string_view>(
    {"INIT_NIC", "SET_MAC", "GET_MAC", "SET_FILTER", "SET_MTU", "START", "STOP", "RESET",
     "VLAN_ADD", "VLAN_DEL", "SET_PVID", "SET_OFFLOADS", "SET_QUEUES", "SET_COALESCE", "SET_QOS"});
constexpr auto kUtilityNames =
    std::to_array<std::string_view>({"GET_STATS", "QUERY_STATS", "CLEAR_STATS", "GET_LINK", "ECHO",
                                     "GET_VERSION", "EVENT", "ANNOUNCE", "GET_STATE", "LIST_NICS"});
static_assert(kMacConfigNames.size() == (static_cast<std::uint32_t>(CfgCode::kSetQos) & 0xFFFFU));
static_assert(kUtilityNames.size() == (static_cast<std::uint32_t>(CfgCode::kListNics) & 0xFFFFU));
constexpr auto kStatusNames =
    std::to_array<std::string_view>({"OK", "unknown family or code", "bad size", "bad value",
                                     "not permitted", "busy", "device error", "version"});
static_assert(kStatusNames.size() == static_cast<std::size_t>(CfgStatus::kVersion) + 1);

}  // namespace

std::string_view name(CfgCode code) {
  const auto value = static_cast<std::uint32_t>(code);
  const std::uint32_t number = value & 0xFFFFU;
  if (number == 0) return "unknown";
  if (value >> 16 == 1 && number <= kMacConfigNames.size()) return kMacConfigNames[number - 1];
  if (value >> 16 == 2 && number <= kUtilityNames.size()) return kUtilityNames[number - 1];
  return "unknown";
}

std::string_view name(CfgStatus status) {
  const auto value = static_cast<std::size_t>(status);
  return value < kStatusNames.size() ? kStatusNames[value] : "unknown";
}

Parsed<CfgUtilRequest> CfgUtilRequest::parse(base::Bytes message) {
  const auto context = check_header(message, Function::kCfgUtilRequest, kFixedBytes);
  if (!context) return context.error();
  const auto size = base::load_be<std::uint32_t>(message.data() + 16);
  if (!is_padded_length(message.size(), kFixedBytes, size)) return DropReason::kAlign;
  return CfgUtilRequest{*context,
                        static_cast<CfgCode>(base::load_be<std::uint32_t>(message.data() + 12)),
                        message.subspan(kFixedBytes, size)};
}

std::size_t CfgUtilRequest::emit(base::MutableBytes out) const {
  CHECK(out.size() >= bytes(data.size()));
  emit_header(Function::kCfgUtilRequest, context, out);
  base::store_be(out.data() + 12, static_cast<std::uint32_t>(code));
  base::store_be(out.data() + 16, static_cast<std::uint32_t>(data.size()));
  return kFixedBytes + put_padded(data, out.subspan(kFixedBytes));
}

CfgUtilRefusal CfgUtilRefusal::of(base::Bytes message, DropReason reason) {
  const auto header = MessageHeader::parse(message);
  CHECK(header);
  CfgUtilRefusal refusal;
  refusal.context = header->context;
  if (message.size() >= 16) {
    refusal.code = static_cast<CfgCode>(base::load_be<std::uint32_t>(message.data() + 12));
  }
  refusal.status = reason == DropReason::kVersion ? CfgStatus::kVersion : CfgStatus::kBadSize;
  return refusal;
}

Parsed<CfgUtilReply> CfgUtilReply::parse(base::Bytes message) {
  const auto context = check_header(message, Function::kCfgUtilReply, kFixedBytes);
  if (!context) return context.error();
  const auto size = base::load_be<std::uint32_t>(message.data() + 20);
  if (!is_padded_length(message.size(), kFixedBytes, size)) return DropReason::kAlign;
  return CfgUtilReply{*context,
                      static_cast<CfgCode>(base::load_be<std::uint32_t>(message.data() + 12)),
                      static_cast<CfgStatus>(base::load_be<std::uint32_t>(message.data() + 16)),
                      message.subspan(kFixedBytes, size)};
}

std::size_t CfgUtilReply::emit(base::MutableBytes out) const {
  CHECK(out.size() >= bytes(data.size()));
  emit_header(Function::kCfgUtilReply, context, out);
  base::store_be(out.data() + 12, static_cast<std::uint32_t>(code));
  base::store_be(out.data() + 16, static_cast<std::uint32_t>(status));
  base::store_be(out.data() + 20, static_cast<std::uint32_t>(data.size()));
  return kFixedBytes + put_padded(data, out.subspan(kFixedBytes));
}

}  // namespace splitnic::messaging
