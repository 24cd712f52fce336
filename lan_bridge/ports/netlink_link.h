// One network interface through rtnetlink: its state as the kernel reports it, event by event, and
// the few settings that the ports change. Thread: the data thread of its owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "lan_bridge/address_lists.h"
#include "lan_bridge/frame_port.h"

struct mnl_socket;
struct nlmsghdr;

namespace splitnic::lan {

// The contents of one RTM_NEWLINK.
struct LinkInfo {
  unsigned index = 0;
  std::string name;
  std::string alias;
  PortState state;
  std::uint64_t tx_dropped = 0;
  std::uint32_t promiscuity = 0;
  std::uint32_t tap_queues = 0;  // that programs hold, of a TAP with several; else 0
  std::uint32_t namespace_id =
      ~0U;  // of a reply about a network namespace: its number, if it has one
};

class NetlinkLink {
 public:
  // Returns the interface of this name in the network namespace of the caller, or nullopt if there
  // is none.
  static base::Result<std::optional<LinkInfo>> find(const std::string& name);
  // Returns the indices of this interface and of those that stand on it in the network namespace of
  // the caller: its bridge, bond or VRF, its VLANs, and what stands on them (netlink_stack.cc).
  static base::Result<std::vector<unsigned>> stack_of(unsigned index);
  // Follows the interface `name`, or returns an error if there is none.
  static base::Result<std::unique_ptr<NetlinkLink>> open(const std::string& name);
  // Waits for the interface `name`, as if it was deleted.
  static base::Result<std::unique_ptr<NetlinkLink>> expect(const std::string& name);
  NetlinkLink(const NetlinkLink&) = delete;
  NetlinkLink& operator=(const NetlinkLink&) = delete;

  // Hears of interfaces in other network namespaces too, from now on, so that it can follow one.
  // Without CAP_NET_BROADCAST it does not.
  void listen_everywhere();
  // After the interface has left: follows it where it is now, by the name that it has there. What
  // it reports continues; only the namespace that the sockets are in can be changed. An error: it
  // cannot be followed there.
  base::Status follow(const base::UniqueFd& network_namespace, const std::string& name);
  // After the interface was deleted: continues with the one that has its name again. An error: that
  // one has another index than this.
  base::Status return_as(unsigned index);
  // Whether the interface is in another namespace than the sockets.
  bool is_elsewhere() const { return namespace_id_.has_value(); }

  int event_fd() const;  // readable when state() may have changed
  unsigned index() const { return info_.index; }
  // Reads pending events first. A deleted interface stays down.
  const PortState& state();
  // Returns how often that, is_gone() or is_back() has changed, as FramePort::changes().
  std::uint64_t changes() const { return changes_; }
  // As of the last state().
  const PortState& last_state() const { return info_.state; }
  // Queries the kernel instead of waiting for its event, which may come up to a second later for a
  // carrier.
  const PortState& refresh();
  // Queries the kernel for the addresses that the interface is to receive; none if it does not
  // reply or its lists changed meanwhile. REQUIRES !is_elsewhere().
  std::optional<AddressLists> address_lists();
  bool is_gone() const { return is_gone_; }
  // After the interface was deleted: there is one of its name again, and it is up.
  bool is_back() const { return is_back_; }
  // Returns the number of queues of a TAP that programs hold, as of the last event; 0 unless the
  // TAP may have several, or if this kernel does not report it.
  std::uint32_t tap_queues() const { return info_.tap_queues; }

  base::Status set_mtu(std::uint32_t mtu);
  base::Status set_mac(const MacAddress& mac);
  base::Status set_alias(const std::string& alias);
  base::Status set_gso_max(std::uint32_t bytes);
  base::Status set_up(bool up);
  base::Status set_promiscuous(bool on);  // the user's flag, as `ip link set promisc`
  // As `ethtool -s`. The drivers of few interfaces take it, a TAP's is one.
  base::Status set_speed(std::uint32_t mbps, bool is_full_duplex);
  // Returns the number of frames that the stack could not pass to the interface, or 0 if the kernel
  // does not reply.
  std::uint64_t tx_dropped();

 private:
  struct SocketCloser {
    void operator()(mnl_socket* socket) const;
  };
  using Socket = std::unique_ptr<mnl_socket, SocketCloser>;

  NetlinkLink() = default;
  static base::Result<std::unique_ptr<NetlinkLink>> open_sockets();
  static base::Result<Socket> open_socket(unsigned groups);
  static base::Status query(mnl_socket* socket, nlmsghdr* request, LinkInfo* reply);
  // Passes each message of the reply to `on_message`, which is called with `data`.
  static base::Status exchange(mnl_socket* socket, nlmsghdr* request,
                               int (*on_message)(const nlmsghdr*, void*), void* data);
  static base::Result<std::optional<LinkInfo>> find(mnl_socket* socket, const std::string& name,
                                                    std::optional<std::uint32_t> namespace_id);
  base::Result<std::uint32_t> id_of(const base::UniqueFd& network_namespace);
  void on_events(const char* data, std::size_t bytes);
  base::Status set_flag(unsigned flag, bool on, const char* what);
  base::Status change(std::uint16_t attribute, const void* data, std::size_t bytes,
                      const char* what);
  void read_events();
  void query_state();
  void on_event_of_another(const LinkInfo& info, bool is_deleted);
  void look_for_name();
  std::optional<std::uint32_t> query_promiscuity();
  void update(const LinkInfo& info);
  void set_gone();
  void set_back(bool is_back);
  base::Error not_here(const char* what) const;
  int ethtool(void* command);

  Socket events_;
  Socket requests_;
  base::UniqueFd ioctl_socket_;
  LinkInfo info_;
  std::optional<std::uint32_t> namespace_id_{};  // as the sockets' namespace numbers it
  std::uint64_t home_ = 0;                       // the inode of that namespace
  bool listens_everywhere_ = false;
  bool is_gone_ = false;
  bool is_back_ = false;
  std::uint64_t changes_ = 0;
  unsigned back_index_ = 0;  // of the interface that is_back_ was about last
  std::vector<char> buffer_;
};

}  // namespace splitnic::lan
