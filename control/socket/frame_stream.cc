#include "control/socket/frame_stream.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/parse_message.h"
#include "control/socket/admin.pb.h"
#include "control/socket/requests.h"

namespace splitnic::control {
namespace {

// Returns the copies with the oldest frame; null if none has any.
lan::FrameCopies* oldest(const lan::FrameCapture::Copies& copies) {
  lan::FrameCopies* first = nullptr;
  for (const auto& one : copies) {
    if (one->empty()) continue;
    if (first == nullptr || one->front().nanoseconds < first->front().nanoseconds)
      first = one.get();
  }
  return first;
}

}  // namespace

std::string take_frames(const lan::FrameCapture::Copies& copies, std::size_t interfaces,
                        bool is_last) {
  admin::Frames out;
  std::size_t bytes = 0;
  while (bytes < kFrameMessageBytes) {
    lan::FrameCopies* const from = oldest(copies);
    if (from == nullptr) break;
    const lan::CopiedFrame frame = from->front();
    admin::Frame& one = *out.add_frames();
    one.set_nanoseconds(frame.nanoseconds);
    one.set_interface(static_cast<std::uint32_t>(from->interface()));
    one.set_is_sent(frame.is_sent);
    one.set_length(frame.length);
    one.set_bytes(frame.bytes.data(), frame.bytes.size());
    bytes += frame.bytes.size();
    from->pop();
  }
  out.mutable_lost()->Resize(static_cast<int>(interfaces), 0);
  for (const auto& one : copies) {
    const auto at = static_cast<int>(one->interface());
    out.set_lost(at, out.lost(at) + one->lost());
  }
  out.set_is_last(is_last);
  return with_length(out.SerializeAsString());
}

std::optional<SentFrames> decode_frames(std::string_view bytes, std::size_t interfaces) {
  admin::Frames in;
  if (bytes.size() > kReplyBytesMax || !base::parse_message(base::as_bytes(bytes), in) ||
      static_cast<std::size_t>(in.lost_size()) > interfaces) {
    return std::nullopt;
  }
  SentFrames sent;
  for (admin::Frame& one : *in.mutable_frames()) {
    if (one.interface() >= interfaces || one.bytes().size() > one.length()) return std::nullopt;
    sent.frames.push_back({one.nanoseconds(), one.interface(), one.is_sent(), one.length(),
                           std::move(*one.mutable_bytes())});
  }
  sent.lost.assign(in.lost().begin(), in.lost().end());
  sent.lost.resize(interfaces);
  sent.is_last = in.is_last();
  return sent;
}

std::string interface_list(const std::vector<std::string>& interfaces) {
  std::string out;
  for (const std::string& name : interfaces) out += name + "\n";
  return out;
}

std::vector<std::string> parse_interface_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace splitnic::control
