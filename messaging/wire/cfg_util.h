// CfgUtilRequest (0x0008) and CfgUtilReply (0x0009): configuration and utility commands. The frame
// is fixed; the data is one serialised Protobuf message of messaging/cfgutil/cfgutil.proto, named
// after its code. docs/protocol/cfgutil.md#cfgutil [S001-24] [S001-25]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

// Family (16) and code (16) of word 3; a code outside of the list gets the status kUnknown.
enum class CfgCode : std::uint32_t {
  kInitNic = 0x0001'0001,
  kSetMac = 0x0001'0002,
  kGetMac = 0x0001'0003,
  kSetFilter = 0x0001'0004,
  kSetMtu = 0x0001'0005,
  kStart = 0x0001'0006,
  kStop = 0x0001'0007,
  kReset = 0x0001'0008,
  kVlanAdd = 0x0001'0009,
  kVlanDel = 0x0001'000A,
  kSetPvid = 0x0001'000B,
  kSetOffloads = 0x0001'000C,
  kSetQueues = 0x0001'000D,
  kSetCoalesce = 0x0001'000E,
  kSetQos = 0x0001'000F,
  kGetStats = 0x0002'0001,
  kQueryStats = 0x0002'0002,
  kClearStats = 0x0002'0003,
  kGetLink = 0x0002'0004,
  kEcho = 0x0002'0005,
  kGetVersion = 0x0002'0006,
  kEvent = 0x0002'0007,
  kAnnounce = 0x0002'0008,
  kGetState = 0x0002'0009,
  kListNics = 0x0002'000A,
};
// "SET_MAC"; "unknown" for any other value.
std::string_view name(CfgCode code);

enum class CfgStatus : std::uint32_t {
  kOk = 0,
  kUnknown = 1,
  kBadSize = 2,
  kBadValue = 3,
  kNotPermitted = 4,
  kBusy = 5,
  kDeviceError = 6,
  kVersion = 7,
};
std::string_view name(CfgStatus status);

struct CfgUtilRequest {
  static constexpr std::size_t kFixedBytes = 20;
  static constexpr std::size_t bytes(std::size_t data_bytes) {
    return kFixedBytes + pad4(data_bytes);
  }

  TransactionContext context;
  CfgCode code{};
  base::Bytes data;  // lies in the message

  static Parsed<CfgUtilRequest> parse(base::Bytes message);
  // Returns the length. REQUIRES out.size() >= bytes(data.size()).
  std::size_t emit(base::MutableBytes out) const;
};

// The reply to a request that could not be parsed; any request with a complete header gets one
// reply. REQUIRES message.size() >= kHeaderBytes and that parse() refused it with `reason`.
struct CfgUtilRefusal {
  TransactionContext context;
  CfgCode code{};  // 0 if the message is too short to have one
  CfgStatus status = CfgStatus::kBadSize;

  static CfgUtilRefusal of(base::Bytes message, DropReason reason);
};

struct CfgUtilReply {
  static constexpr std::size_t kFixedBytes = 24;
  static constexpr std::size_t bytes(std::size_t data_bytes) {
    return kFixedBytes + pad4(data_bytes);
  }

  TransactionContext context;
  CfgCode code{};
  CfgStatus status = CfgStatus::kOk;
  base::Bytes data;  // lies in the message

  static Parsed<CfgUtilReply> parse(base::Bytes message);
  // Returns the length. REQUIRES out.size() >= bytes(data.size()).
  std::size_t emit(base::MutableBytes out) const;
};

}  // namespace splitnic::messaging
