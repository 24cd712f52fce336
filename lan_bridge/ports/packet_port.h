// A LAN NIC through AF_PACKET with the vnet header: super-frames and partial checksums cross whole.
// Each frame is received straight into registered memory; a VLAN tag that the kernel took out of
// band is put back into the frame. Outgoing frames of the NIC are never captured, nor are the
// unit's own fabric datagrams.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "lan_bridge/ports/capture_port.h"

namespace splitnic::lan {

struct PacketOptions {
  std::string interface;
  bool promiscuous = true;  // the hosts have their own MACs
  std::uint32_t mtu = 0;    // of the interface; 0: as it is
  std::vector<FabricEndpoint> exclude = {};
  std::size_t buffer_bytes = 16U << 20;  // of the socket, for received frames
  // For frames to send. Frames in it are no longer subject to fair queueing, so it is short while
  // several hosts share the port; a host alone needs more for bulk TCP.
  std::size_t send_buffer_bytes = 1U << 20;
  std::size_t shared_send_buffer_bytes = 256U << 10;
  bool has_long_header = true;  // false: the header of 10 bytes, the only one of older kernels
};

class PacketPort final : public CapturePort {
 public:
  static base::Result<std::unique_ptr<PacketPort>> open(const PacketOptions& options);

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  std::size_t write(std::span<const base::Bytes> frames) override;
  void share_output(bool is_shared) override;
  int fd() const override { return fd_.get(); }
  base::Status set_promiscuous(bool on) override;

 private:
  static constexpr std::size_t kBatch = 64;

  PacketPort(const PacketOptions& options, base::UniqueFd fd, std::unique_ptr<NetlinkLink> link)
      : CapturePort("packet:" + options.interface, std::move(link), options.exclude),
        fd_(std::move(fd)),
        options_(options) {}
  base::Status configure();
  void set_receive_buffer();
  void set_send_buffer(std::size_t bytes);
  base::Status attach_filter(std::span<sock_filter> program) override;
  base::Status bind();
  std::uint64_t kernel_drops() const override;

  ssize_t receive(base::MutableBytes room, base::MutableBytes& frame);
  std::size_t send_batch(std::span<const base::Bytes> frames);
  bool send_one(base::Bytes frame) override;
  std::size_t header_vectors(base::Bytes frame, iovec* out) const;

  base::UniqueFd fd_;
  PacketOptions options_;
  bool has_long_header_ = true;  // PACKET_VNET_HDR_SZ 12
  bool is_promiscuous_ = false;
  bool is_send_cut_logged_ = false;
  mutable std::uint64_t kernel_drops_ = 0;
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, 2 * kBatch> vectors_{};
};

}  // namespace splitnic::lan
