#include "lan_bridge/ports/file_port.h"

#include <fcntl.h>
#include <pcap/pcap.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/private_file.h"
#include "lan_bridge/frame/captured.h"
#include "lan_bridge/frame/mtu.h"

namespace splitnic::lan {
namespace {

constexpr int kSnapLength = 262144;

// Captures are opened with nanoseconds in the field for microseconds. A file may hold any stamp:
// within these bounds, 146 years around 1970, differences fit a Duration. [L-8]
base::Duration stamp_of(const pcap_pkthdr& header) {
  constexpr std::int64_t kSecondsMax = 4'600'000'000;
  const std::int64_t seconds =
      std::clamp<std::int64_t>(header.ts.tv_sec, -kSecondsMax, kSecondsMax);
  const std::int64_t fraction = std::clamp<std::int64_t>(header.ts.tv_usec, 0, 999'999'999);
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(fraction);
}

}  // namespace

void FilePort::Closer::operator()(pcap* handle) const { pcap_close(handle); }
void FilePort::Closer::operator()(pcap_dumper* dumper) const { pcap_dump_close(dumper); }

base::Result<std::unique_ptr<FilePort>> FilePort::open(const FileOptions& options,
                                                       base::Clock& clock) {
  std::unique_ptr<FilePort> port(new FilePort(options, clock));
  if (!options.in.empty()) {
    if (auto status = port->open_in(); !status) return status.error();
  }
  if (!options.out.empty()) {
    if (auto status = port->open_out(); !status) return status.error();
  }
  if (options.speed > 0) {
    port->timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!port->timer_.valid()) return base::Error::from_errno("creating a timer", errno);
  }
  port->begin_pass();
  if (port->in_) port->is_due();  // arms the timer for the first frame
  return port;
}

FilePort::FilePort(const FileOptions& options, base::Clock& clock)
    : options_(options), clock_(clock) {
  state_.link_up = state_.admin_up = state_.promiscuous = true;
  state_.mtu = options.mtu;
  state_.mac = options.mac;
}

// The file is opened once, for its user may not open it again later: each pass reads it through a
// duplicate, from the start.
base::Status FilePort::open_in() {
  const std::string what = "reading the capture " + options_.in;
  if (!in_file_.valid()) in_file_.reset(::open(options_.in.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in_file_.valid()) return base::Error::from_errno(what, errno);
  base::UniqueFd pass(::fcntl(in_file_.get(), F_DUPFD_CLOEXEC, 0));
  std::FILE* const stream = pass.valid() ? ::fdopen(pass.get(), "rb") : nullptr;
  if (stream == nullptr) return base::Error::from_errno(what, errno);
  ::lseek(pass.release(), 0, SEEK_SET);  // a pipe has one pass
  char text[PCAP_ERRBUF_SIZE] = "";
  in_.reset(pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, text));
  if (!in_) {
    std::fclose(stream);
    return base::Error(what + ": " + text);
  }
  if (pcap_datalink(in_.get()) != DLT_EN10MB) {
    in_.reset();
    return base::Error(what + ": its frames are not Ethernet");
  }
  return {};
}

base::Status FilePort::open_out() {
  out_format_.reset(
      pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapLength, PCAP_TSTAMP_PRECISION_NANO));
  auto fd = base::create_private_file(options_.out);
  if (!fd) return base::Error("writing the capture " + fd.error().text());
  std::FILE* const stream = ::fdopen(fd->get(), "wb");
  if (stream == nullptr)
    return base::Error::from_errno("writing the capture " + options_.out, errno);
  fd->release();
  out_.reset(pcap_dump_fopen(out_format_.get(), stream));  // closes the stream if it fails
  if (!out_)
    return base::Error(std::string("writing the capture ") + pcap_geterr(out_format_.get()));
  return {};
}

void FilePort::begin_pass() {
  pass_begin_ = clock_.now();
  frames_in_pass_ = 0;
  if (in_ && peek()) first_stamp_ = stamp_of(*next_header_);
}

// Reads the next frame into next_header_ and next_bytes_ unless one is there. Returns false if the
// input has ended.
bool FilePort::peek() {
  if (next_header_ != nullptr) return true;
  pcap_pkthdr* header = nullptr;
  const int result = pcap_next_ex(in_.get(), &header, &next_bytes_);
  if (result == 1) {
    next_header_ = header;
    return true;
  }
  if (result == PCAP_ERROR) counters_.add(PortCounter::kRxDropError);  // cut off within a frame
  if (result == PCAP_ERROR) counters_.add(PortCounter::kRxFrames);
  in_.reset();
  if (options_.loop && frames_in_pass_ != 0 && open_in()) begin_pass();
  if (!in_ && timer_.valid()) {
    const itimerspec never{};
    ::timerfd_settime(timer_.get(), 0, &never, nullptr);
  }
  return in_ != nullptr;
}

// Returns true if the next frame is due; else arms the timer for it.
bool FilePort::is_due() {
  if (options_.speed <= 0 || next_header_ == nullptr) return true;
  const auto offset =
      static_cast<double>((stamp_of(*next_header_) - first_stamp_).count()) / options_.speed;
  const base::Duration at(static_cast<std::int64_t>(std::clamp(offset, 0.0, 9e18)));
  const base::Duration wait = at - (clock_.now() - pass_begin_);
  itimerspec when{};
  const auto ns = std::max<std::int64_t>(wait.count(), 1);
  when.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);  // clears its readable state
  return wait.count() <= 0;
}

ReadBatch FilePort::read(FrameRing& ring, std::span<base::Bytes> out) {
  ReadSink sink{ring, out};
  if (!splitter_.resume(sink)) return {sink.frames, true};
  for (std::size_t tries = 0; tries < out.size() && !sink.is_full(); ++tries) {
    if (!in_ || !peek() || !is_due()) return {sink.frames, false};
    const base::MutableBytes room = ring.reserve();
    if (room.empty() || !take(sink, room)) break;
  }
  return {sink.frames, true};
}

// Reads the next frame into `room`. Returns false if it is being split and waits for room.
bool FilePort::take(ReadSink& sink, base::MutableBytes room) {
  const std::size_t bytes = next_header_->caplen;
  const bool is_whole = bytes == next_header_->len && bytes <= room.size() - kVnetHeaderBytes;
  if (frames_in_pass_++ == 0) pass_begin_ = clock_.now();  // the owner may have read late
  next_header_ = nullptr;
  if (!is_whole) {
    counters_.add(PortCounter::kRxFrames);
    counters_.add(PortCounter::kRxDropTooLong);
    return true;
  }
  const base::MutableBytes frame = room.first(kVnetHeaderBytes + bytes);
  std::memcpy(frame.data() + kVnetHeaderBytes, next_bytes_, bytes);
  if (!rebuild_captured(frame, state_.mtu)) {
    counters_.add(PortCounter::kRxFrames);
    counters_.add(PortCounter::kRxDropGso);
    return true;
  }
  splitter_.commit_or_split(sink, frame);
  return splitter_.resume(sink);
}

std::size_t FilePort::write(std::span<const base::Bytes> frames) {
  for (const base::Bytes frame : frames) {
    if (frame.size() < kVnetHeaderBytes + kEthernetBytes) {
      counters_.add(PortCounter::kTxDropShort);
    } else if (offloads_used(VnetHeader::parse(frame)) == 0) {
      dump(frame);
    } else {
      software_gso_.write(frame, [this](base::Bytes piece) {
        dump(piece);
        return true;
      });
    }
  }
  if (out_ && !frames.empty()) pcap_dump_flush(out_.get());
  return frames.size();
}

void FilePort::dump(base::Bytes frame) {
  const base::Bytes ethernet = frame.subspan(kVnetHeaderBytes);
  if (out_) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    pcap_pkthdr header{};
    header.ts.tv_sec = now.tv_sec;
    header.ts.tv_usec = now.tv_nsec;
    header.caplen = header.len = static_cast<bpf_u_int32>(ethernet.size());
    pcap_dump(reinterpret_cast<u_char*>(out_.get()), &header,
              reinterpret_cast<const u_char*>(ethernet.data()));
    if (std::ferror(pcap_dump_file(out_.get())) != 0) {
      counters_.add(PortCounter::kTxDropError);
      return;
    }
  }
  counters_.add(PortCounter::kTxFrames);
  counters_.add(PortCounter::kTxBytes, ethernet.size());
}

base::Status FilePort::set_mtu(std::uint32_t mtu) {
  if (mtu < kMtuMin || mtu > kLanMtuMax) {
    return base::Error(name() + ": the MTU must be from " + std::to_string(kMtuMin) + " to " +
                           std::to_string(kLanMtuMax),
                       EINVAL);
  }
  state_.mtu = mtu;
  return {};
}

base::Status FilePort::set_mac(const MacAddress& mac) {
  if (is_multicast(mac))
    return base::Error(name() + ": a NIC has no multicast MAC address", EINVAL);
  state_.mac = mac;
  return {};
}

base::Status FilePort::set_promiscuous(bool on) {
  state_.promiscuous = on;
  return {};
}

base::Status FilePort::set_offloads(std::uint32_t mask) {
  splitter_.offloads = offloads_in_force(mask & kOffloadsAll) | kOffloadsAlways;
  return {};
}

std::string FilePort::name() const { return "file:" + options_.in + "," + options_.out; }

void FilePort::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  visitor("rx.drop.kernel", 0);
}

}  // namespace splitnic::lan
