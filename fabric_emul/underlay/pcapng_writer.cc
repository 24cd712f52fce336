#include "fabric_emul/underlay/pcapng_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/private_file.h"

namespace splitnic::fabric {
namespace {

// Fields are in this machine's byte order: readers know it from the magic of the section header.
constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::uint32_t kVersion = 1;  // major (16), minor (16) in little endian: 1.0
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kInterfaceStatistics = 5;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kUserApplication = 4;   // of the section
constexpr std::uint16_t kInterfaceName = 2;     // of an interface
constexpr std::uint16_t kInterfaceTsresol = 9;  // of an interface
constexpr std::uint16_t kInterfaceDropped = 5;  // of statistics
constexpr std::uint16_t kPacketFlags = 2;       // of a packet
constexpr std::size_t kPacketOverhead = 44;
static_assert(std::endian::native == std::endian::little);

}  // namespace

base::Result<std::unique_ptr<PcapngWriter>> PcapngWriter::open(const std::string& path,
                                                               std::string_view program) {
  auto fd = base::create_private_file(path);
  if (!fd) return base::Error("opening the capture " + fd.error().text());
  return std::unique_ptr<PcapngWriter>(new PcapngWriter(path, *std::move(fd), program));
}

std::unique_ptr<PcapngWriter> PcapngWriter::to(base::UniqueFd fd, std::string_view program) {
  return std::unique_ptr<PcapngWriter>(new PcapngWriter({}, std::move(fd), program));
}

PcapngWriter::PcapngWriter(std::string path, base::UniqueFd fd, std::string_view program)
    : path_(std::move(path)), fd_(std::move(fd)), buffer_(kBufferBytes) {
  const std::size_t section = begin_block(kSectionHeader);
  put32(kByteOrderMagic);
  put32(kVersion);
  put32(~0U);  // the section's length is not known
  put32(~0U);
  put_option(kUserApplication, base::as_bytes(program));
  put_option(kEndOfOptions, {});
  end_block(section);
}

PcapngWriter::~PcapngWriter() {
  flush();
  if (const auto lost = counters_[CaptureCounter::kLost]; lost != 0 && !path_.empty()) {
    base::log_warn("the capture " + path_ + " misses " + std::to_string(lost) + " datagrams");
  }
}

std::uint32_t PcapngWriter::add_interface(std::string_view name, const Medium& medium) {
  CHECK(counters_[CaptureCounter::kDatagrams] == 0 && name.size() < 256);
  const std::size_t begin = begin_block(kInterfaceDescription);
  put32(medium.link_type);  // and 16 reserved bits
  put32(medium.snap_length);
  put_option(kInterfaceName, base::as_bytes(name));
  const std::byte nanoseconds{9};  // 10^-9
  put_option(kInterfaceTsresol, {&nanoseconds, 1});
  put_option(kEndOfOptions, {});
  end_block(begin);
  flush();  // a disk that fills up later never loses the head of the file
  snap_lengths_.push_back(medium.snap_length);
  return static_cast<std::uint32_t>(snap_lengths_.size() - 1);
}

void PcapngWriter::add(std::uint32_t interface, Direction direction,
                       std::chrono::nanoseconds since_epoch, base::Bytes datagram,
                       std::uint32_t length) {
  CHECK(interface < snap_lengths_.size());
  counters_.add(CaptureCounter::kDatagrams);
  counters_.add(CaptureCounter::kBytes, datagram.size());
  length = std::max(length, static_cast<std::uint32_t>(datagram.size()));
  datagram = datagram.first(std::min<std::size_t>(datagram.size(), snap_lengths_[interface]));
  if (buffer_.size() - used_ < kPacketOverhead + base::round_up(datagram.size(), 4)) flush();
  const std::size_t begin = begin_block(kEnhancedPacket);
  put32(interface);
  put_stamp(since_epoch);
  put32(static_cast<std::uint32_t>(datagram.size()));
  put32(length);
  put_padded(datagram);
  const auto flags = static_cast<std::uint32_t>(direction);
  put_option(kPacketFlags, std::as_bytes(std::span(&flags, 1)));
  put_option(kEndOfOptions, {});
  end_block(begin);
  ++buffered_datagrams_;
}

void PcapngWriter::add_lost(std::uint32_t interface, std::chrono::nanoseconds since_epoch,
                            std::uint64_t lost) {
  CHECK(interface < snap_lengths_.size());
  if (buffer_.size() - used_ < kPacketOverhead) flush();
  const std::size_t begin = begin_block(kInterfaceStatistics);
  put32(interface);
  put_stamp(since_epoch);
  put_option(kInterfaceDropped, std::as_bytes(std::span(&lost, 1)));
  put_option(kEndOfOptions, {});
  end_block(begin);
}

void PcapngWriter::flush() {
  if (used_ == 0) return;
  if (!fd_.valid() || !write_all()) lose();
  used_ = 0;
  buffered_datagrams_ = 0;
}

// Returns false if nothing of the buffer is in the file.
bool PcapngWriter::write_all() {
  std::size_t done = 0;
  while (done < used_) {
    const ssize_t wrote = ::write(fd_.get(), buffer_.data() + done, used_ - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      if (counters_[CaptureCounter::kLost] == 0 && !path_.empty()) {
        base::log_warn("writing the capture " + path_ + ": " + std::strerror(errno) +
                       "; datagrams are missing from it from now on");
      }
      const auto whole = static_cast<off_t>(file_bytes_);
      if (::ftruncate(fd_.get(), whole) != 0 || ::lseek(fd_.get(), whole, SEEK_SET) < 0 ||
          file_bytes_ == 0) {
        fd_.reset();  // without its head, or with half a block, the file is useless
      }
      return false;
    }
    done += static_cast<std::size_t>(wrote);
  }
  file_bytes_ += used_;
  return true;
}

void PcapngWriter::lose() {
  is_complete_ = false;
  counters_.add(CaptureCounter::kLost, buffered_datagrams_);
}

void PcapngWriter::put32(std::uint32_t value) {
  std::memcpy(buffer_.data() + used_, &value, sizeof(value));
  used_ += sizeof(value);
}

// In the units of the interface, which are nanoseconds.
void PcapngWriter::put_stamp(std::chrono::nanoseconds since_epoch) {
  const auto stamp = static_cast<std::uint64_t>(since_epoch.count());
  put32(static_cast<std::uint32_t>(stamp >> 32));
  put32(static_cast<std::uint32_t>(stamp));
}

void PcapngWriter::put_padded(base::Bytes bytes) {
  const std::size_t padded = base::round_up(bytes.size(), 4);
  if (!bytes.empty()) std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
  std::memset(buffer_.data() + used_ + bytes.size(), 0, padded - bytes.size());
  used_ += padded;
}

void PcapngWriter::put_option(std::uint16_t code, base::Bytes value) {
  put32(code | static_cast<std::uint32_t>(value.size()) << 16);
  put_padded(value);
}

std::size_t PcapngWriter::begin_block(std::uint32_t type) {
  const std::size_t begin = used_;
  put32(type);
  put32(0);
  return begin;
}

void PcapngWriter::end_block(std::size_t begin) {
  const auto bytes = static_cast<std::uint32_t>(used_ + 4 - begin);
  put32(bytes);
  std::memcpy(buffer_.data() + begin + 4, &bytes, sizeof(bytes));
}

}  // namespace splitnic::fabric
