// The base of the ports that capture a LAN NIC (packet:, pcap:). It filters the unit's own fabric
// datagrams out of the capture, by the NIC's MAC where an endpoint has no address, and sends
// through a packet socket with the vnet header where the port has one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lan_bridge/ports/fabric_filter.h"
#include "lan_bridge/ports/link_port.h"
#include "lan_bridge/ports/vnet_sender.h"

namespace splitnic::lan {

// Room for frames to send, in bytes. Frames in it are no longer subject to fair queueing, so it is
// short while several hosts share the port; a host alone needs more for bulk TCP.
struct SendBuffer {
  std::size_t alone = 1U << 20;
  std::size_t shared = 256U << 10;
};

class CapturePort : public LinkPort {
 public:
  // The filter may contain the NIC's MAC, so it is attached once more.
  base::Status set_mac(const MacAddress& mac) override {
    if (auto status = link_->set_mac(mac); !status) return status;
    return filter_fabric();
  }
  void share_output(bool is_shared) override {
    set_send_buffer(is_shared ? send_buffer_.shared : send_buffer_.alone);
  }

 protected:
  CapturePort(std::string name, std::unique_ptr<NetlinkLink> link,
              std::vector<FabricEndpoint> exclude, const SendBuffer& send_buffer)
      : LinkPort(std::move(name), std::move(link)),
        exclude_(std::move(exclude)),
        send_buffer_(send_buffer) {}

  base::Status filter_fabric() {
    if (exclude_.empty()) return {};
    auto program = exclude_fabric(exclude_, link_->state().mac);
    if (!program) return program.error();
    return attach_filter(*program);
  }
  // Logs that the system gave a socket a smaller buffer than requested.
  void warn_of_cut(std::string_view what, std::size_t got, std::string_view limit,
                   std::size_t wanted) const;
  // By sender_.
  std::size_t send_batch(std::span<const base::Bytes> frames) override;
  bool send_one(base::Bytes frame) override;

  std::optional<VnetSender> sender_;

 private:
  // Replaces the filter that the kernel applies to captured frames.
  virtual base::Status attach_filter(std::span<sock_filter> program) = 0;
  // Of the socket behind write_fd().
  void set_send_buffer(std::size_t bytes);

  std::vector<FabricEndpoint> exclude_;
  SendBuffer send_buffer_;
  bool is_send_cut_logged_ = false;
};

}  // namespace splitnic::lan
