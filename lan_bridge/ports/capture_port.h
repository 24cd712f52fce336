// The base of the ports that capture a LAN NIC (packet:, pcap:). It filters the unit's own fabric
// datagrams out of the capture, by the NIC's MAC where an endpoint has no address, and sends
// through a packet socket with the vnet header where the port has one. Several queues are several
// ports, whose sockets are one fanout group (fanout.h). When the NIC was deleted and is back, a
// packet socket that another process has opened takes the place of what there was before.
// Thread: the data thread of its owner.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lan_bridge/ports/fabric_filter.h"
#include "lan_bridge/ports/fanout.h"
#include "lan_bridge/ports/link_port.h"
#include "lan_bridge/ports/memberships.h"
#include "lan_bridge/ports/packet_receiver.h"
#include "lan_bridge/ports/packet_socket.h"
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
    if (observes()) return {};
    if (auto status = link_->set_mac(mac); !status) return status;
    return filter_fabric();
  }
  base::Status set_receive_filter(const ReceiveFilter& filter) override {
    if (observes()) return {};
    return memberships_.set(capture_fd(), link_->index(), filter);
  }
  // An additional queue sees here that the MAC has changed, and attaches its filter once more.
  PortState state() override;
  void share_output(bool is_shared) override {
    is_output_shared_ = is_shared;
    set_send_buffer(is_shared ? options_.send_buffer.shared : options_.send_buffer.alone);
  }
  bool needs_privilege_to_share() const override {
    return !may_set_send_buffer(options_.send_buffer.alone);
  }
  bool can_return() const override { return true; }
  base::Result<Descriptors> return_by(base::UniqueFd socket) override;

 protected:
  struct CaptureOptions {
    std::vector<FabricEndpoint> exclude;
    SendBuffer send_buffer;
    bool promiscuous;
  };
  CapturePort(std::string name, std::unique_ptr<NetlinkLink> link, CaptureOptions options,
              QueueRole role)
      : LinkPort(std::move(name), std::move(link), role), options_(std::move(options)) {}

  // Opens `queues` ports by open(role), or fewer, which is logged, if the kernel refuses one. One
  // queue joins no group. REQUIRES queues > 0; an observer accepts no frame until it has joined.
  template <class OpenPort>
  static base::Result<std::vector<std::unique_ptr<FramePort>>> open_group(std::uint32_t queues,
                                                                          OpenPort&& open) {
    return open_all(queues, [&open](QueueRole role) -> base::Result<std::unique_ptr<CapturePort>> {
      auto port = open(role);
      if (!port) return port.error();
      return std::unique_ptr<CapturePort>(std::move(*port));
    });
  }
  // Of a port that begins without an interface: what it has from return_by() on.
  void expect(bool is_in_group) {
    is_in_group_ = is_in_group;
    memberships_ = Memberships({.promiscuous = options_.promiscuous});
  }
  // From now on this packet socket captures and sends.
  base::Status begin_socket(base::UniqueFd socket, bool may_have_long_header = true);
  base::Status attach_to_socket(std::vector<sock_filter> program) {
    return attach(socket_.get(), std::move(program));
  }
  // A socket is about to take the place of what the port has had so far: adds that to `former`.
  virtual void give_up(Descriptors& former) { former.push_back(std::move(socket_)); }

  base::Status filter_fabric();
  // Logs that the system gave a socket a smaller buffer than requested; of several queues, queue 0
  // does.
  void warn_of_cut(std::string_view what, std::size_t got, std::string_view limit,
                   std::size_t wanted) const;
  // By sender_.
  std::size_t send_batch(std::span<const base::Bytes> frames) override;
  bool send_one(base::Bytes frame) override;

  base::UniqueFd socket_;  // captures and sends, if there is a receiver
  std::optional<PacketReceiver> receiver_;
  std::optional<VnetSender> sender_;

 private:
  using Open = std::function<base::Result<std::unique_ptr<CapturePort>>(QueueRole)>;
  static base::Result<std::vector<std::unique_ptr<FramePort>>> open_all(std::uint32_t queues,
                                                                        const Open& open);
  // Replaces the filter that the kernel applies to captured frames.
  virtual base::Status attach_filter(std::vector<sock_filter> program) = 0;
  virtual int capture_fd() const = 0;
  std::uint64_t kernel_drops() const override;
  // Drops what an observer captured before it accepted no frame: another queue has it, too.
  virtual void discard_captured() {}
  base::Status join(FanoutGroup& group);
  bool has_filter() const { return !options_.exclude.empty() || is_in_group_; }
  // As filter_fabric(), of a packet socket that is not in use yet, and an interface with this MAC.
  base::Status filter_returned(int socket, const MacAddress& mac) const;
  base::Status attach(int socket, std::vector<sock_filter> program) const;
  void use_socket(base::UniqueFd socket, const VnetForm& form);
  // Of the socket behind write_fd().
  void set_send_buffer(std::size_t bytes);

  CaptureOptions options_;
  Memberships memberships_;
  mutable std::uint64_t kernel_drops_ = 0;
  bool is_output_shared_ = false;
  bool is_send_cut_logged_ = false;
  bool is_in_group_ = false;
  MacAddress filtered_mac_{};  // the NIC's, as the filter has it
};

}  // namespace splitnic::lan
