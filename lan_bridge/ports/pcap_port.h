// A LAN NIC through libpcap: works wherever libpcap does, at the price of one copy per frame and of
// segmenting and checksumming in software what it sends. Where libpcap captures by a packet socket,
// frames are sent through that socket in batches (send_batch.h), else one by one. A capture has no
// vnet header, so it is rebuilt (frame/captured.h): TCP super-frames and partial checksums are
// recognised; UDP datagrams that the kernel merged cannot be separated and are dropped as
// rx.drop.gso (use packet: there).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lan_bridge/ports/capture_port.h"
#include "lan_bridge/ports/send_batch.h"

struct pcap;

namespace splitnic::lan {

struct PcapOptions {
  std::string interface;
  bool promiscuous = true;  // the hosts have their own MACs
  std::uint32_t mtu = 0;    // of the interface; 0: as it is
  std::vector<FabricEndpoint> exclude = {};
  std::size_t buffer_bytes = 32U << 20;  // each frame takes 128 KiB of it
  bool has_batches = true;               // false: one by one, as without a packet socket
};

class PcapPort final : public CapturePort {
 public:
  static base::Result<std::unique_ptr<PcapPort>> open(const PcapOptions& options);

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  std::size_t write(std::span<const base::Bytes> frames) override;
  int fd() const override;

 private:
  struct Closer {
    void operator()(pcap* handle) const;
  };
  using Handle = std::unique_ptr<pcap, Closer>;

  PcapPort(const PcapOptions& options, Handle handle, std::unique_ptr<NetlinkLink> link)
      : CapturePort("pcap:" + options.interface, std::move(link), options.exclude),
        handle_(std::move(handle)) {}
  static base::Status activate(pcap* handle, const PcapOptions& options);
  base::Status attach_filter(std::span<sock_filter> program) override;
  std::uint64_t kernel_drops() const override;
  std::size_t write_each(std::span<const base::Bytes> frames);
  bool send_one(base::Bytes frame) override;

  Handle handle_;
  std::unique_ptr<SendBatch> batch_;  // null: frames are sent one by one
};

}  // namespace splitnic::lan
