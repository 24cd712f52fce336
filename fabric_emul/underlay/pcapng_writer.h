// A pcapng file: one section, one interface block per underlay (link type USER0, nanoseconds) or
// per Ethernet interface, one enhanced packet block per datagram or frame with its direction.
// Blocks are gathered in a buffer of fixed size and written when it is full or flushed. A write
// that fails (disk full) loses the buffer: counted, logged once, never fatal; the file is truncated
// to its last whole block and the next flush retries. Thread: one owner, such as the data thread,
// which waits for the disk. Format:
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html
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
  // The kind of packets of an interface, and how much of each the file has at most.
  struct Medium {
    std::uint16_t link_type;
    std::uint32_t snap_length;
  };
  static constexpr Medium kDatagrams{147, 65535};  // USER0
  static constexpr Medium kEthernet{1, 262144};
  static constexpr std::size_t kBufferBytes = 1 << 20;

  enum class Direction : std::uint8_t { kReceived = 1, kSent = 2 };  // as in epb_flags

  // Creates or truncates the file, readable by its owner only: it will hold users' data. `program`
  // is the name of the writing program.
  static base::Result<std::unique_ptr<PcapngWriter>> open(const std::string& path,
                                                          std::string_view program);
  // Writes to a file that is open, such as a pipe, and logs nothing.
  static std::unique_ptr<PcapngWriter> to(base::UniqueFd fd, std::string_view program);
  PcapngWriter(const PcapngWriter&) = delete;
  PcapngWriter& operator=(const PcapngWriter&) = delete;
  ~PcapngWriter();

  // Returns the number of this interface for add(). Called before its first datagram.
  std::uint32_t add_interface(std::string_view name, const Medium& medium = kDatagrams);
  // Adds a datagram or frame. `since_epoch` is wall-clock time. The file has at most the first
  // snap_length bytes, and the length: that of `datagram`, or `length` if it is cut already.
  void add(std::uint32_t interface, Direction direction, std::chrono::nanoseconds since_epoch,
           base::Bytes datagram, std::uint32_t length = 0);
  // Adds how many packets of the interface are missing from the file.
  void add_lost(std::uint32_t interface, std::chrono::nanoseconds since_epoch, std::uint64_t lost);
  void flush();
  // Returns false once something that was flushed is missing from the file.
  bool is_complete() const { return is_complete_; }
  // The size of the file once everything is flushed.
  std::uint64_t bytes() const { return file_bytes_ + used_; }

  const base::Counters<CaptureCounter>& counters() const { return counters_; }

 private:
  PcapngWriter(std::string path, base::UniqueFd fd, std::string_view program);
  void put32(std::uint32_t value);
  void put_stamp(std::chrono::nanoseconds since_epoch);
  void put_option(std::uint16_t code, base::Bytes value);
  // Begins and ends a block of this type; end_block() fills in both lengths.
  std::size_t begin_block(std::uint32_t type);
  void end_block(std::size_t begin);
  void put_padded(base::Bytes bytes);
  bool write_all();
  void lose();

  std::string path_;   // "": what is lost is counted, and not logged
  base::UniqueFd fd_;  // closed when it cannot be truncated after a failed write
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  bool is_complete_ = true;
  std::uint64_t buffered_datagrams_ = 0;
  std::uint64_t file_bytes_ = 0;             // whole blocks in the file
  std::vector<std::uint32_t> snap_lengths_;  // by interface
  base::Counters<CaptureCounter> counters_;
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::CaptureCounter> {
  static constexpr std::array<std::string_view, 3> kNames{"capture.datagrams", "capture.bytes",
                                                          "capture.lost"};
};
