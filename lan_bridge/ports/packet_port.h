// A LAN NIC through AF_PACKET with the vnet header: super-frames and partial checksums cross whole
// (packet_receiver.h). Outgoing frames of the NIC are never captured, nor are the unit's own fabric
// datagrams. Thread: the data thread of its owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "lan_bridge/ports/capture_port.h"

namespace splitnic::lan {

struct PacketOptions {
  std::string interface;
  std::string name = {};    // of the port; "": that of packet:
  bool promiscuous = true;  // the hosts have their own MACs
  std::uint32_t mtu = 0;    // of the interface; 0: as it is
  std::vector<FabricEndpoint> exclude = {};
  std::size_t buffer_bytes = 16U << 20;  // of the socket, for received frames
  SendBuffer send_buffer = {};
  bool has_long_header = true;  // false: the header of 10 bytes, the only one of older kernels
};

class PacketPort final : public CapturePort {
 public:
  static base::Result<std::unique_ptr<PacketPort>> open(const PacketOptions& options);
  // Returns up to `queues` ports, queue 0 first: fewer, which is logged, if the kernel refuses one.
  // REQUIRES queues > 0.
  static base::Result<std::vector<std::unique_ptr<FramePort>>> open_queues(
      const PacketOptions& options, std::uint32_t queues);
  // Returns as many ports on an interface that is not there: they have no link and no frames, as
  // those of one that was deleted, until return_by(). REQUIRES queues > 0.
  static base::Result<std::vector<std::unique_ptr<FramePort>>> expect_queues(
      const PacketOptions& options, std::uint32_t queues);

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  std::size_t write(std::span<const base::Bytes> frames) override;
  int fd() const override { return socket_.get(); }

 private:
  PacketPort(const PacketOptions& options, std::unique_ptr<NetlinkLink> link, QueueRole role)
      : CapturePort(options.name.empty() ? "packet:" + options.interface : options.name,
                    std::move(link), {options.exclude, options.send_buffer, options.promiscuous},
                    role) {}
  static base::Result<std::unique_ptr<PacketPort>> open_as(const PacketOptions& options,
                                                           QueueRole role);
  static base::Result<std::unique_ptr<PacketPort>> expect_as(const PacketOptions& options,
                                                             QueueRole role);
  base::Status configure(base::UniqueFd socket, const PacketOptions& options);
  base::Status attach_filter(std::vector<sock_filter> program) override {
    return attach_to_socket(std::move(program));
  }
  int capture_fd() const override { return socket_.get(); }
};

}  // namespace splitnic::lan
