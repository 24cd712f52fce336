// A LAN NIC through libpcap: works wherever libpcap does, at the price of one copy per captured
// frame. A capture has no vnet header, so it is rebuilt (lan_bridge/frame/captured.h): TCP
// super-frames and partial checksums are recognised; UDP datagrams that the kernel merged cannot be
// separated and are dropped as rx.drop.gso (use packet: there).
//
// libpcap's own socket cannot have the vnet header, since it has a ring. Frames are sent through a
// second packet socket, which captures nothing: super-frames leave whole (vnet_sender.h). By
// choice, or where there is no such socket, libpcap sends each frame itself, and super-frames are
// segmented and checksums finished in software before.
//
// libpcap opens its socket itself, so a NIC that was deleted and is back is read and written as by
// packet: from then on. Thread: the data thread of its owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "lan_bridge/ports/capture_port.h"
#include "lan_bridge/ports/port_spec.h"

struct pcap;

namespace splitnic::lan {

struct PcapOptions {
  std::string interface;
  Injection injection = Injection::kPacket;
  bool promiscuous = true;  // the hosts have their own MACs
  std::uint32_t mtu = 0;    // of the interface; 0: as it is
  std::vector<FabricEndpoint> exclude = {};
  std::size_t buffer_bytes = 32U << 20;  // of the capture: each frame takes 128 KiB of it
  SendBuffer send_buffer = {};
};

class PcapPort final : public CapturePort {
 public:
  static base::Result<std::unique_ptr<PcapPort>> open(const PcapOptions& options);
  // Returns up to `queues` ports, queue 0 first: fewer, which is logged, if the kernel refuses one.
  // REQUIRES queues > 0.
  static base::Result<std::vector<std::unique_ptr<FramePort>>> open_queues(
      const PcapOptions& options, std::uint32_t queues);

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  int fd() const override;
  int write_fd() const override { return send_socket_.valid() ? send_socket_.get() : fd(); }

 private:
  struct Closer {
    void operator()(pcap* handle) const;
  };
  using Handle = std::unique_ptr<pcap, Closer>;

  PcapPort(const PcapOptions& options, Handle handle, std::unique_ptr<NetlinkLink> link,
           QueueRole role);
  static base::Result<std::unique_ptr<PcapPort>> open_as(const PcapOptions& options,
                                                         QueueRole role);
  static base::Status activate(pcap* handle, const PcapOptions& options);
  void begin_output(Injection injection);
  base::Status open_sender();
  base::Status attach_filter(std::vector<sock_filter> program) override;
  int capture_fd() const override;
  void discard_captured() override;
  void give_up(Descriptors& former) override;
  bool send_one(base::Bytes frame) override;
  bool inject(base::Bytes frame);

  Handle handle_;               // null: the NIC has come back
  base::UniqueFd send_socket_;  // of sender_, while there is a handle
};

}  // namespace splitnic::lan
