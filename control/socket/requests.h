// Requests and replies of the control socket as plain values, and their bytes: a 32-bit big-endian
// length, then the Protobuf message of control/socket/admin.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace splitnic::lan {
class FrameCapture;
}

namespace splitnic::control {

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kRequestBytesMax = 4096;
inline constexpr std::size_t kReplyBytesMax = 4 << 20;
inline constexpr std::uint32_t kPingCountMax = 1000;
inline constexpr std::uint32_t kPastEventsMax = 100000;

enum class Command : std::uint8_t {
  kShow,
  kStats,
  kSet,
  kPing,
  kReload,
  kPeers,
  kEvict,
  kNic,
  kMonitor,
  kTopology,
  kCapture,
  kEndCapture,
};

struct Request {
  Command command = Command::kShow;
  bool json = false;  // show, stats, peers, nic
  std::string what;   // set: "mac", "mtu", "filter", "link"; nic: control/config/nic_request.h;
                      // topology: control/report/fabric_map.h
  std::string value;  // set, nic; evict: the name of the host
  std::uint32_t count = 0;   // ping: 1..kPingCountMax; monitor: 0..kPastEventsMax;
                             // capture: 1..kSnapMax, bytes of a frame
  std::string interface {};  // nic, capture: the host's; empty: whichever it has
  // capture: where the frames go; inside of the program only.
  std::shared_ptr<lan::FrameCapture> frames{};
  bool verbose = false;  // show
  friend bool operator==(const Request&, const Request&) = default;
};

enum class ReplyStatus : std::uint8_t { kOk, kBadRequest, kRefused, kFailed };

struct Reply {
  ReplyStatus status = ReplyStatus::kOk;
  std::string text;
  friend bool operator==(const Reply&, const Reply&) = default;
};

// Called once, from any thread. If every copy is destroyed uncalled, the client gets kFailed.
using ReplyFunction = std::function<void(Reply)>;
using RequestHandler = std::function<void(Request, ReplyFunction)>;

// Returns the bytes of a message with their length in front.
std::string with_length(const std::string& message);
// Returns the message with its length in front. A reply that is too long becomes kFailed.
std::string encode(const Request& request);
std::string encode(const Reply& reply);
// Decodes the bytes after the length. Returns nothing if they are malformed or a field is out of
// range.
std::optional<Request> decode_request(std::string_view bytes);
std::optional<Reply> decode_reply(std::string_view bytes);
// REQUIRES bytes.size() >= kLengthBytes.
std::uint32_t decode_length(std::string_view bytes);

}  // namespace splitnic::control
