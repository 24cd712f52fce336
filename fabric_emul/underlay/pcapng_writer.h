// A pcapng file: one section, one interface block per underlay (link type USER0, nanoseconds), one
// enhanced packet block per datagram with its direction. Blocks are gathered in a buffer of fixed
// size and written when it is full or flushed. A write that fails (disk full) loses the buffer:
// counted, logged once, never fatal; the file is truncated to its last whole block and the next
// flush retries. Thread: one owner, the data thread, which waits for the disk.
// Format: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::fabric {

enum class CaptureCounter : std::uint8_t { kDatagrams, kBytes, kLost, kCount_ };

class PcapngWriter {
 public:
  static constexpr std::uint16_t kLinkTypeUser0 = 147;
  static constexpr std::size_t kBufferBytes = 1 << 20;

  enum class Direction : std::uint8_t { kReceived = 1, kSent = 2 };  // as in epb_flags

  // Creates or truncates the file, readable by its owner only: it will hold users' data. `program`
  // is the name of the writing program.
  static base::Result<std::unique_ptr<PcapngWriter>> open(const std::string& path,
                                                          std::string_view program);
  PcapngWriter(const PcapngWriter&) = delete;
  PcapngWriter& operator=(const PcapngWriter&) = delete;
  ~PcapngWriter();

  // Returns the number of this interface for add(). Called before its first datagram.
  std::uint32_t add_interface(std::string_view name);
  // Adds a datagram. `since_epoch` is wall-clock time. The file has at most the first 65535 bytes
  // of a datagram, and its length.
  void add(std::uint32_t interface, Direction direction, std::chrono::nanoseconds since_epoch,
           base::Bytes datagram);
  void flush();
  bool has_unwritten() const { return used_ != 0; }

  const base::Counters<CaptureCounter>& counters() const { return counters_; }

 private:
  PcapngWriter(std::string path, base::UniqueFd fd);
  void put32(std::uint32_t value);
  void put_option(std::uint16_t code, base::Bytes value);
  // Begins and ends a block of this type; end_block() fills in both lengths.
  std::size_t begin_block(std::uint32_t type);
  void end_block(std::size_t begin);
  void put_padded(base::Bytes bytes);
  bool write_all();
  void lose();

  std::string path_;
  base::UniqueFd fd_;  // closed when it cannot be truncated after a failed write
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint64_t buffered_datagrams_ = 0;
  std::uint64_t file_bytes_ = 0;  // whole blocks in the file
  std::uint32_t interfaces_ = 0;
  base::Counters<CaptureCounter> counters_;
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::CaptureCounter> {
  static constexpr std::array<std::string_view, 3> kNames{"capture.datagrams", "capture.bytes",
                                                          "capture.lost"};
};
