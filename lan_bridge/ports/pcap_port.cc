#include "lan_bridge/ports/pcap_port.h"

#include <pcap/pcap.h>

#include <cerrno>
#include <cstring>

#include "lan_bridge/frame/captured.h"
#include "lan_bridge/ports/packet_socket.h"

namespace splitnic::lan {
namespace {

// The longest frame that is captured: what fits the room that is reserved for it.
constexpr int kSnapLength = static_cast<int>(kFrameReserve - kVnetHeaderBytes - kVlanTagBytes);
constexpr std::size_t kSendBufferBytes = 8U << 20;  // room for the segments of a super-frame

base::Error explain(pcap* handle, int status, const std::string& interface) {
  switch (status) {
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
      return base::Error(interface + ": not permitted: run as root or with CAP_NET_RAW", EPERM);
    case PCAP_ERROR_NO_SUCH_DEVICE:
      return base::Error(interface + ": no such interface", ENODEV);
    case PCAP_ERROR_IFACE_NOT_UP:
      return base::Error(interface + ": the interface is down: ip link set " + interface + " up",
                         ENETDOWN);
    default:
      return base::Error(interface + ": " + pcap_geterr(handle));
  }
}

// Returns true if pcap_inject() would send each frame through this socket.
bool is_packet_socket(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t bytes = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) < 0 || domain != AF_PACKET) {
    return false;
  }
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_RAW;
}

}  // namespace

void PcapPort::Closer::operator()(pcap* handle) const { pcap_close(handle); }

base::Result<std::unique_ptr<PcapPort>> PcapPort::open(const PcapOptions& options) {
  auto link = NetlinkLink::open(options.interface);
  if (!link) return link.error();
  char text[PCAP_ERRBUF_SIZE] = "";
  Handle handle(pcap_create(options.interface.c_str(), text));
  if (!handle) return base::Error(options.interface + ": " + text);
  if (auto status = activate(handle.get(), options); !status) return status.error();
  std::unique_ptr<PcapPort> port(new PcapPort(options, std::move(handle), std::move(*link)));
  if (options.has_batches && is_packet_socket(pcap_fileno(port->handle_.get()))) {
    port->batch_ = std::make_unique<SendBatch>(port->counters_);
  }
  if (auto status = port->filter_fabric(); !status) {
    return status.error().within(options.interface);
  }
  if (auto status = port->begin_with_mtu(options.mtu); !status) return status.error();
  return port;
}

base::Status PcapPort::activate(pcap* handle, const PcapOptions& options) {
  pcap_set_snaplen(handle, kSnapLength);
  pcap_set_promisc(handle, options.promiscuous ? 1 : 0);
  pcap_set_immediate_mode(handle, 1);
  pcap_set_buffer_size(handle, static_cast<int>(options.buffer_bytes));
  if (const int status = pcap_activate(handle); status < 0) {
    return explain(handle, status, options.interface);
  }
  if (pcap_datalink(handle) != DLT_EN10MB) {
    return base::Error(options.interface + ": not an Ethernet interface");
  }
  // In the kernel, so that frames that are sent are not copied; libpcap's own check comes after the
  // copy.
  const int on = 1;
  set_option(pcap_fileno(handle), SOL_PACKET, PACKET_IGNORE_OUTGOING, on);
  set_buffer(pcap_fileno(handle), SO_SNDBUFFORCE, SO_SNDBUF, kSendBufferBytes);
  char text[PCAP_ERRBUF_SIZE] = "";
  if (pcap_setdirection(handle, PCAP_D_IN) < 0) {
    return base::Error(options.interface + ": " + pcap_geterr(handle));
  }
  if (pcap_setnonblock(handle, 1, text) < 0) return base::Error(options.interface + ": " + text);
  return {};
}

base::Status PcapPort::attach_filter(std::span<sock_filter> program) {
  std::vector<bpf_insn> code;
  for (const sock_filter& step : program) code.push_back({step.code, step.jt, step.jf, step.k});
  bpf_program filter{static_cast<u_int>(code.size()), code.data()};
  if (pcap_setfilter(handle_.get(), &filter) < 0) {
    return base::Error(std::string("attaching the capture filter: ") + pcap_geterr(handle_.get()));
  }
  return {};
}

int PcapPort::fd() const { return pcap_get_selectable_fd(handle_.get()); }

ReadBatch PcapPort::read(FrameRing& ring, std::span<base::Bytes> out) {
  ReadSink sink{ring, out};
  if (!splitter_.resume(sink)) return {sink.frames, true};
  const std::uint32_t mtu = link_->state().mtu;
  for (std::size_t tries = 0; tries < out.size() && !sink.is_full(); ++tries) {
    const base::MutableBytes room = ring.reserve();
    if (room.empty()) break;
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    if (pcap_next_ex(handle_.get(), &header, &bytes) != 1) return {sink.frames, false};
    if (header->caplen < header->len || header->caplen > room.size() - kVnetHeaderBytes) {
      counters_.add(PortCounter::kRxFrames);
      counters_.add(PortCounter::kRxDropTooLong);
      continue;
    }
    const base::MutableBytes frame = room.first(kVnetHeaderBytes + header->caplen);
    std::memcpy(frame.data() + kVnetHeaderBytes, bytes, header->caplen);
    if (!rebuild_captured(frame, mtu)) {
      counters_.add(PortCounter::kRxFrames);
      counters_.add(PortCounter::kRxDropGso);
      continue;
    }
    splitter_.commit_or_split(sink, frame);
    if (!splitter_.resume(sink)) break;
  }
  return {sink.frames, true};
}

std::size_t PcapPort::write(std::span<const base::Bytes> frames) {
  flush();
  if (write_pending()) return 0;
  if (!batch_) return write_each(frames);
  const auto [done, pieces] = batch_->send(pcap_fileno(handle_.get()), frames);
  if (pieces == 0) return done;
  software_gso_.hold_rest(frames[done], pieces);
  return done + 1;
}

std::size_t PcapPort::write_each(std::span<const base::Bytes> frames) {
  std::size_t done = 0;
  for (; done < frames.size() && !write_pending(); ++done) {
    const base::Bytes frame = frames[done];
    if (frame.size() < kVnetHeaderBytes + kEthernetBytes) {
      counters_.add(PortCounter::kTxDropShort);
    } else if (offloads_used(VnetHeader::parse(frame)) != 0) {
      segment_in_software(frame);
    } else if (!send_one(frame)) {
      break;
    }
  }
  return done;
}

bool PcapPort::send_one(base::Bytes frame) {
  const base::Bytes ethernet = frame.subspan(kVnetHeaderBytes);
  for (;;) {
    errno = 0;
    if (pcap_inject(handle_.get(), ethernet.data(), ethernet.size()) >= 0) {
      count_sent(frame);
      return true;
    }
    if (errno == EAGAIN) return false;
    if (errno == EINTR) continue;
    counters_.add(tx_drop_of(errno));
    return true;
  }
}

std::uint64_t PcapPort::kernel_drops() const {
  pcap_stat stats{};
  return pcap_stats(handle_.get(), &stats) == 0 ? stats.ps_drop : 0;
}

}  // namespace splitnic::lan
