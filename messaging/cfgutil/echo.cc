#include "messaging/cfgutil/echo.h"

#include <google/protobuf/io/coded_stream.h>

#include <optional>
#include <string>
#include <utility>

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::messaging {
namespace {

constexpr std::uint32_t kWireTypeBits = 3;
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

bool skip(google::protobuf::io::CodedInputStream& in, std::uint32_t wire_type) {
  std::uint64_t number = 0;
  switch (wire_type) {
    case kVarint:
      return in.ReadVarint64(&number);
    case kFixed64:
      return in.Skip(8);
    case kBytes:
      return in.ReadVarint64(&number) && number <= kMsgMaxMost && in.Skip(static_cast<int>(number));
    case kFixed32:
      return in.Skip(4);
    default:  // groups, which no message of CfgUtil has
      return false;
  }
}

// Returns nothing if it is no message, or the field of the data has another type.
std::optional<std::string> data_of(base::Bytes request) {
  constexpr std::uint32_t kField = cfg::EchoRequest::kDataFieldNumber;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(request.data()),
                                            static_cast<int>(request.size()));
  std::string data;
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> kWireTypeBits;
    const std::uint32_t type = tag & ((1U << kWireTypeBits) - 1);
    std::uint32_t bytes = 0;
    const bool is_good = field == kField ? type == kBytes && in.ReadVarint32(&bytes) &&
                                               bytes <= request.size() &&
                                               in.ReadString(&data, static_cast<int>(bytes))
                                         : field != 0 && skip(in, type);
    if (!is_good) return std::nullopt;
  }
  return in.ConsumedEntireMessage() ? std::optional(std::move(data)) : std::nullopt;
}

}  // namespace

CfgReply reply_to_echo(base::Bytes request) {
  auto data = request.size() > kMsgMaxMost ? std::nullopt : data_of(request);
  if (!data) return {CfgStatus::kBadValue, {}};
  cfg::EchoReply reply;
  reply.set_data(*std::move(data));
  return {CfgStatus::kOk, reply.SerializeAsString()};
}

}  // namespace splitnic::messaging
