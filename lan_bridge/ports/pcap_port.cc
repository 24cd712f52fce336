#include "lan_bridge/ports/pcap_port.h"

#include <fcntl.h>
#include <pcap/pcap.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "lan_bridge/frame/captured.h"
#include "lan_bridge/ports/packet_socket.h"

namespace splitnic::lan {
namespace {

// The longest frame that is captured: what fits the room that is reserved for it.
constexpr int kSnapLength = static_cast<int>(kFrameReserve - kVnetHeaderBytes - kVlanTagBytes);

base::Error explain(pcap* handle, int status, const std::string& interface) {
  switch (status) {
    case PCAP_ERROR_PERM_DENIED:
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

}  // namespace

PcapPort::PcapPort(const PcapOptions& options, Handle handle, std::unique_ptr<NetlinkLink> link,
                   QueueRole role)
    : CapturePort("pcap:" + options.interface +
                      (options.injection == Injection::kPcap ? ",inject=pcap" : ""),
                  std::move(link), {options.exclude, options.send_buffer, options.promiscuous},
                  role),
      handle_(std::move(handle)) {}

void PcapPort::Closer::operator()(pcap* handle) const { pcap_close(handle); }

base::Result<std::unique_ptr<PcapPort>> PcapPort::open(const PcapOptions& options) {
  return open_as(options, QueueRole::kOwner);
}

base::Result<std::vector<std::unique_ptr<FramePort>>> PcapPort::open_queues(
    const PcapOptions& options, std::uint32_t queues) {
  return open_group(queues, [&](QueueRole role) { return open_as(options, role); });
}

base::Result<std::unique_ptr<PcapPort>> PcapPort::open_as(const PcapOptions& options,
                                                          QueueRole role) {
  auto link = NetlinkLink::open(options.interface);
  if (!link) return link.error();
  char text[PCAP_ERRBUF_SIZE] = "";
  Handle handle(pcap_create(options.interface.c_str(), text));
  if (!handle) return base::Error(options.interface + ": " + text);
  if (auto status = activate(handle.get(), options); !status) return status.error();
  std::unique_ptr<PcapPort> port(new PcapPort(options, std::move(handle), std::move(*link), role));
  port->begin_output(options.injection);
  const bool is_owner = role == QueueRole::kOwner;
  const auto filtered = is_owner ? port->filter_fabric() : port->attach_filter(accept_nothing());
  if (!filtered) return filtered.error().within(options.interface);
  if (!is_owner) return port;
  const auto received = port->set_receive_filter({.promiscuous = options.promiscuous});
  if (!received) return received.error().within(options.interface);
  if (auto status = port->begin_with_mtu(options.mtu); !status) return status.error();
  return port;
}

base::Status PcapPort::activate(pcap* handle, const PcapOptions& options) {
  pcap_set_snaplen(handle, kSnapLength);
  pcap_set_promisc(handle, 0);  // set_receive_filter() does
  pcap_set_immediate_mode(handle, 1);
  pcap_set_buffer_size(handle, static_cast<int>(options.buffer_bytes));
  if (const int status = pcap_activate(handle); status < 0) {
    return explain(handle, status, options.interface);
  }
  if (pcap_datalink(handle) != DLT_EN10MB) {
    return base::Error(options.interface + ": not an Ethernet interface");
  }
  // In the kernel, so that frames that are sent are not copied, whatever socket sends them;
  // libpcap's own check comes after the copy.
  const int on = 1;
  set_option(pcap_fileno(handle), SOL_PACKET, PACKET_IGNORE_OUTGOING, on);
  char text[PCAP_ERRBUF_SIZE] = "";
  if (pcap_setdirection(handle, PCAP_D_IN) < 0) {
    return base::Error(options.interface + ": " + pcap_geterr(handle));
  }
  if (pcap_setnonblock(handle, 1, text) < 0) return base::Error(options.interface + ": " + text);
  return {};
}

void PcapPort::begin_output(Injection injection) {
  if (injection == Injection::kPacket) {
    if (const auto status = open_sender(); !status && !observes()) {
      base::log_warn(name_ + ": " + status.error().text() +
                     ": libpcap sends, and super-frames are segmented in software");
    }
  }
  if (!sender_) offloads_sent_ = 0;
  share_output(false);
}

base::Status PcapPort::open_sender() {
  auto socket = open_packet_socket();
  if (!socket) return socket.error();
  const auto form = VnetForm::request(socket->get());
  if (!form) return form.error();
  // Protocol 0: it captures nothing.
  if (auto status = bind_packet_socket(socket->get(), link_->index(), 0); !status) return status;
  send_socket_ = std::move(*socket);
  sender_.emplace(send_socket_.get(), *form, counters_);
  return {};
}

void PcapPort::give_up(Descriptors& former) {
  if (receiver_) return CapturePort::give_up(former);
  former.emplace_back(::fcntl(pcap_fileno(handle_.get()), F_DUPFD_CLOEXEC, 0));
  handle_.reset();
  former.push_back(std::move(send_socket_));
  offloads_sent_ = kOffloadsAll;
}

base::Status PcapPort::attach_filter(std::vector<sock_filter> program) {
  if (receiver_) return attach_to_socket(std::move(program));
  std::vector<bpf_insn> code;
  code.reserve(program.size());
  for (const sock_filter& step : program) code.push_back({step.code, step.jt, step.jf, step.k});
  bpf_program filter{static_cast<u_int>(code.size()), code.data()};
  if (pcap_setfilter(handle_.get(), &filter) < 0) {
    return base::Error(std::string("attaching the capture filter: ") + pcap_geterr(handle_.get()));
  }
  return {};
}

int PcapPort::capture_fd() const { return receiver_ ? socket_.get() : pcap_fileno(handle_.get()); }

void PcapPort::discard_captured() {
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(handle_.get(), &header, &bytes) == 1) {
  }
}

int PcapPort::fd() const {
  return receiver_ ? socket_.get() : pcap_get_selectable_fd(handle_.get());
}

ReadBatch PcapPort::read(FrameRing& ring, std::span<base::Bytes> out) {
  if (receiver_) return receiver_->read(ring, out);
  ReadSink sink{ring, out};
  if (!splitter_.resume(sink)) return {sink.frames, true};
  const std::uint32_t mtu = link_->last_state().mtu;
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

bool PcapPort::send_one(base::Bytes frame) {
  return sender_ ? CapturePort::send_one(frame) : inject(frame);
}

bool PcapPort::inject(base::Bytes frame) {
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

}  // namespace splitnic::lan
