#include "conformance/stranger.h"

#include <fmt/format.h>

#include <algorithm>

#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::conformance {
namespace {

constexpr std::size_t kShown = 16;

bool is_returned(base::Bytes datagram, const Transcript& transcript) {
  return std::ranges::any_of(transcript.all(), [&](const Exchanged& one) {
    return one.direction == Direction::kSent && std::ranges::equal(one.bytes, datagram);
  });
}

// An INIT with a wrong CRC is still that of a peer, and so is one that is wrong behind a right CRC.
bool is_like_init(base::Bytes datagram) {
  fabric::FlitView flit;
  const fabric::FlitError error = fabric::parse_flit(datagram, flit);
  if (error == fabric::FlitError::kCrc) {
    fabric::Init init;
    return fabric::parse_init(datagram.subspan(fabric::kFlitHeaderBytes), init) ==
           fabric::InitError::kNone;
  }
  const bool is_whole = error != fabric::FlitError::kShort && error != fabric::FlitError::kSize;
  return is_whole && flit.header.type == fabric::FlitType::kInit;
}

std::string begin_of(base::Bytes datagram) {
  std::string text;
  for (const std::byte one : datagram.first(std::min(kShown, datagram.size()))) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(one));
  }
  return datagram.size() > kShown ? text + "..." : text;
}

}  // namespace

bool is_from_peer(base::Bytes datagram, const Transcript& transcript) {
  return is_like_init(datagram) && !is_returned(datagram, transcript);
}

std::string stranger_in(const Transcript& transcript) {
  for (const Exchanged& one : transcript.all()) {
    if (one.direction == Direction::kSent || is_from_peer(one.bytes, transcript)) continue;
    if (is_returned(one.bytes, transcript)) return "what the suite sends comes back";
    return fmt::format("{} bytes that are no INIT, {}", one.bytes.size(), begin_of(one.bytes));
  }
  return {};
}

}  // namespace splitnic::conformance
