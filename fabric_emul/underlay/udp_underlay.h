// Datagrams over UDP, IPv4 and IPv6. One sendmsg with UDP_SEGMENT and one recvmsg with UDP_GRO move
// up to 64 KiB; where the system refuses UDP_SEGMENT, sendmmsg is used from then on. Datagrams are
// never fragmented (DF). EMSGSIZE refuses those that the interface does not carry; what ICMP
// reports about the path refuses none. [H-6] Set-up in udp_underlay.cc, datapath in udp_batch.cc.
// A connected socket whose own address has left the machine takes another one: udp_own_address.cc.
// If the peer has moved, the owner leads the socket there; the layers above know the peer by the
// address that it had first.
// Thread: one owner, the data thread.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "fabric_emul/underlay/incoming_cpu.h"
#include "fabric_emul/underlay/udp_local_table.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

// With a receive buffer below this, datagrams are lost at speed.
inline constexpr std::size_t kUdpBufferBytesMin = 4 << 20;

struct UdpConfig {
  std::string
      bind{};  // "10.0.0.1:4791", "[::]:4791", ":4791" (IPv6 and IPv4); empty: any free port
  std::string connect{};  // "host:port"; empty: any peer
  // With `connect`, which is "0.0.0.0:port" then: where the other end is will be known at the first
  // move_to(). Until then nothing is sent.
  bool is_awaited = false;
  std::string bind_device{};  // network interface to bind to; needs CAP_NET_RAW
  // Network interface that a connected socket must not leave by when it takes another address: the
  // one whose frames it carries. Empty: none.
  std::string own_device{};
  // Indices of interfaces of which a socket that is bound to every address takes no datagrams.
  // Others take those of any. [L-11]
  std::vector<std::uint32_t> without_interfaces{};
  std::size_t buffer_bytes = 8 << 20;
  bool segment = true;  // false: never UDP_SEGMENT
  bool gather = true;   // false: never UDP_GRO
  // Logs which of these the system does not have. false: another socket of the program does.
  bool reports_limits = true;
};

class UdpUnderlay final : public Underlay {
 public:
  static base::Result<std::unique_ptr<UdpUnderlay>> open(const UdpConfig& config);
  // Resolves "host:port", also names and service names. AF_UNSPEC takes the first address found.
  static base::Result<PeerAddress> resolve(std::string_view text, int family = AF_UNSPEC);
  // The same with all addresses, IPv4 and IPv6, in the order in which to try them; never none.
  static base::Result<std::vector<PeerAddress>> resolve_all(std::string_view text);

  // Returns the address that the layers above know the other end by. REQUIRES config.connect.
  const PeerAddress& connected_to() const { return connected_to_; }
  // From now on the other end is there; the descriptor and connected_to() stay the same. Asks the
  // system. An error has changed nothing. REQUIRES config.connect, config.bind empty.
  base::Status move_to(const PeerAddress& peer);
  // Returns our address, with the port that the system chose.
  PeerAddress local_address() const;
  bool segments() const { return segment_; }
  // Returns the errno for which the system sent nothing, or what it reported of a datagram that was
  // sent, since the last one arrived; 0: neither. Routers and strangers can cause such reports.
  int last_error() const { return last_error_; }
  // As UdpConfig::without_interfaces, from now on.
  void set_without_interfaces(std::vector<std::uint32_t> indices) {
    without_interfaces_ = std::move(indices);
  }
  // Batches that came in by one of without_interfaces.
  std::uint64_t dropped_of_interfaces() const { return dropped_of_interfaces_; }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  void forget(base::Bytes batch) override {
    if (resume_.data == batch.data()) resume_ = {};
  }
  void set_dscp(std::uint8_t of_batches, std::uint8_t /*of_control*/) override {
    dscp_ = of_batches;
  }
  PathKind path_kind(const PeerAddress& to) const override;
  // Asks the system for route and interface: for INIT and after kTooLong, not for the data path.
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  // Of a connected socket that was not bound to an address. send() does the same where the system
  // refuses the address (IPv4).
  void check_own_address() override;
  // Of a connected socket only: others get no ICMP.
  bool take_too_long_report() override { return std::exchange(is_too_long_reported_, false); }
  std::size_t receive_buffer_bytes() const override { return receive_buffer_bytes_; }
  int fd() const override { return fd_.get(); }
  bool came_in_on_this_cpu() const override;
  std::string name_of(const PeerAddress& peer) const override;

 private:
  UdpUnderlay() = default;
  // udp_underlay.cc
  base::Status set_up(const UdpConfig& config);
  base::Status open_socket(int family);
  base::Status bind_to(const UdpConfig& config, int family);
  void set_limits(const UdpConfig& config);
  void set_buffers(const UdpConfig& config);
  base::Status tie_to_device();
  // udp_own_address.cc
  bool has_own_address() const;
  bool take_own_address();
  bool connect_again();
  bool leaves_by_own_device() const;
  const PeerAddress& actual(const PeerAddress& to) const {
    return to == connected_to_ ? peer_ : to;
  }
  // udp_batch.cc
  template <class Call>
  auto call_again(Call&& call);
  SendStatus send_segmented(const PeerAddress& to, base::Bytes bytes, std::size_t stride);
  SendStatus send_each(const PeerAddress& to, base::Bytes bytes, std::size_t stride);
  SendStatus send_once(const PeerAddress& to, base::Bytes bytes, std::size_t segment, int& error);

  // Position in a batch of which sendmmsg took only a part before the socket was full.
  struct Resume {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    std::size_t sent = 0;
  };

  base::UniqueFd fd_;
  int family_ = AF_UNSPEC;
  bool is_connected_ = false;  // to connected_to_, but for a while without an own address
  bool is_bound_ = false;      // to an address of the configuration
  bool segment_ = true;
  std::uint8_t dscp_ = 0;
  PeerAddress connected_to_;
  PeerAddress peer_;  // where that is now
  std::string bind_device_, own_device_;
  std::size_t buffer_bytes_ = 0;  // as configured
  bool gathers_ = true;
  std::size_t receive_buffer_bytes_ = 0;
  Resume resume_;
  bool is_too_long_reported_ = false;
  int last_error_ = 0;
  UdpLocalTable locals_;
  std::vector<std::uint32_t> without_interfaces_;
  std::uint64_t dropped_of_interfaces_ = 0;
  std::optional<IncomingCpu> incoming_cpu_;  // of a socket that is not connected
  std::vector<std::byte> buffer_;            // of the batch that receive() gave out
};

}  // namespace splitnic::fabric
