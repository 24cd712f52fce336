// Frames of a capture as the control socket sends them (control/socket/admin.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lan_bridge/frame/frame_capture.h"

namespace splitnic::control {

// A message has frames up to about this many bytes, and no more than a reply may have.
inline constexpr std::size_t kFrameMessageBytes = 256 << 10;

// Takes the oldest frames out of `copies` and returns the message with its length in front. Frames
// of several queues come in the order of their times, as far as they are there. `is_last` is for
// the end of a capture.
std::string take_frames(const lan::FrameCapture::Copies& copies, std::size_t interfaces,
                        bool is_last);

struct SentFrame {
  std::int64_t nanoseconds = 0;  // since 1970
  std::uint32_t interface = 0;
  bool is_sent = false;
  std::uint32_t length = 0;
  std::string bytes;
};
struct SentFrames {
  std::vector<SentFrame> frames;
  std::vector<std::uint64_t> lost;  // by interface, so far
  bool is_last = false;
};
// Decodes the bytes after the length. Returns nothing if they are malformed, or if an interface is
// none of `interfaces`.
std::optional<SentFrames> decode_frames(std::string_view bytes, std::size_t interfaces);

// The names of the interfaces, as the reply to capture lists them.
std::string interface_list(const std::vector<std::string>& interfaces);
std::vector<std::string> parse_interface_list(std::string_view text);

}  // namespace splitnic::control
