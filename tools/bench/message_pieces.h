// The pieces of local memory that a message of `splitnic bench` is gathered from, or that a read is
// scattered to [S000-04]: of equal length but the last, which has the rest, and in the slot of the
// message in reverse order, so that one piece in place of several shows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitnic::bench {

struct MessagePiece {
  std::size_t in_message = 0;  // where its bytes are in the message
  std::size_t in_slot = 0;
  std::size_t length = 0;
};

// REQUIRES i < count and count <= bytes.
constexpr MessagePiece piece_of(std::size_t i, std::size_t count, std::size_t bytes) {
  const std::size_t begin = i * (bytes / count);
  const std::size_t length = i + 1 == count ? bytes - begin : bytes / count;
  return {begin, bytes - begin - length, length};
}

// The byte at this place of memory that the other end reads.
constexpr std::byte pattern_at(std::size_t offset) {
  return static_cast<std::byte>((offset ^ (offset >> 8) ^ (offset >> 16)) & 0xFF);
}

}  // namespace splitnic::bench
