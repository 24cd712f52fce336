#include "lan_bridge/ports/packet_port.h"

#include <linux/if_ether.h>

#include <cerrno>

#include "lan_bridge/ports/packet_socket.h"

namespace splitnic::lan {

base::Result<std::unique_ptr<PacketPort>> PacketPort::open(const PacketOptions& options) {
  return open_as(options, QueueRole::kOwner);
}

base::Result<std::vector<std::unique_ptr<FramePort>>> PacketPort::open_queues(
    const PacketOptions& options, std::uint32_t queues) {
  return open_group(queues, [&](QueueRole role) { return open_as(options, role); });
}

base::Result<std::vector<std::unique_ptr<FramePort>>> PacketPort::expect_queues(
    const PacketOptions& options, std::uint32_t queues) {
  std::vector<std::unique_ptr<FramePort>> out;
  while (out.size() < queues) {
    auto port = expect_as(options, out.empty() ? QueueRole::kOwner : QueueRole::kObserver);
    if (!port) return port.error();
    (*port)->expect(queues > 1);
    out.push_back(*std::move(port));
  }
  return out;
}

base::Result<std::unique_ptr<PacketPort>> PacketPort::expect_as(const PacketOptions& options,
                                                                QueueRole role) {
  auto link = NetlinkLink::expect(options.interface);
  if (!link) return link.error();
  return std::unique_ptr<PacketPort>(new PacketPort(options, std::move(*link), role));
}

base::Result<std::unique_ptr<PacketPort>> PacketPort::open_as(const PacketOptions& options,
                                                              QueueRole role) {
  auto link = NetlinkLink::open(options.interface);
  if (!link) return link.error();
  auto fd = open_packet_socket();
  if (!fd) return fd.error().within(options.interface);
  std::unique_ptr<PacketPort> port(new PacketPort(options, std::move(*link), role));
  if (auto status = port->configure(std::move(*fd), options); !status) {
    return status.error().within(options.interface);
  }
  if (role == QueueRole::kObserver) return port;
  if (auto status = port->begin_with_mtu(options.mtu); !status) return status.error();
  return port;
}

base::Status PacketPort::configure(base::UniqueFd socket, const PacketOptions& options) {
  const int fd = socket.get();
  const int on = 1;
  if (auto begun = begin_socket(std::move(socket), options.has_long_header); !begun) {
    return base::Error(begun.error().text() + ": use pcap: instead");
  }
  if (!set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, on)) {
    return base::Error::from_errno("this kernel has no PACKET_IGNORE_OUTGOING (Linux 4.20)", errno);
  }
  if (!set_option(fd, SOL_PACKET, PACKET_AUXDATA, on)) {
    return base::Error::from_errno("requesting VLAN tags", errno);
  }
  const std::size_t got = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.buffer_bytes);
  if (got < options.buffer_bytes) warn_of_cut("receive", got, "rmem_max", options.buffer_bytes);
  share_output(false);
  auto filtered = observes() ? attach_filter(accept_nothing()) : filter_fabric();
  if (!filtered) return filtered;
  if (auto status = bind_packet_socket(fd, link_->index(), ETH_P_ALL); !status) return status;
  return set_receive_filter({.promiscuous = options.promiscuous});
}

ReadBatch PacketPort::read(FrameRing& ring, std::span<base::Bytes> out) {
  return receiver_ ? receiver_->read(ring, out) : ReadBatch{};
}

std::size_t PacketPort::write(std::span<const base::Bytes> frames) {
  if (sender_) return CapturePort::write(frames);
  counters_.add(PortCounter::kTxDropDown, frames.size());
  return frames.size();
}

}  // namespace splitnic::lan
