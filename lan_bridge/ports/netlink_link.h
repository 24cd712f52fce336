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
#include "lan_bridge/frame_port.h"

struct mnl_socket;
struct nlmsghdr;

namespace splitnic::lan {

// Content of one RTM_NEWLINK.
struct LinkInfo {
  unsigned index = 0;
  std::string name;
  std::string alias;
  PortState state;
  std::uint64_t tx_dropped = 0;
};

class NetlinkLink {
 public:
  // The interface of this name in the network namespace of the caller; nullopt: there is none.
  static base::Result<std::optional<LinkInfo>> find(const std::string& name);
  // Follows the interface `name`. An error if there is none.
  static base::Result<std::unique_ptr<NetlinkLink>> open(const std::string& name);
  NetlinkLink(const NetlinkLink&) = delete;
  NetlinkLink& operator=(const NetlinkLink&) = delete;

  int event_fd() const;  // readable when state() may have changed
  unsigned index() const { return info_.index; }
  // Reads what has happened first. After the interface is deleted it is down for good.
  const PortState& state();
  // Asks the kernel instead of waiting for its event, which may come up to a second later for a
  // carrier.
  const PortState& refresh();
  bool is_gone() const { return is_gone_; }

  base::Status set_mtu(std::uint32_t mtu);
  base::Status set_mac(const MacAddress& mac);
  base::Status set_alias(const std::string& alias);
  base::Status set_gso_max(std::uint32_t bytes);
  base::Status set_up(bool up);
  base::Status set_promiscuous(bool on);  // the user's flag, as `ip link set promisc`
  // Frames that the stack could not hand to the interface; 0 if it cannot be asked.
  std::uint64_t tx_dropped();

 private:
  struct SocketCloser {
    void operator()(mnl_socket* socket) const;
  };
  using Socket = std::unique_ptr<mnl_socket, SocketCloser>;

  NetlinkLink() = default;
  static base::Result<Socket> open_socket(unsigned groups);
  static base::Status ask(mnl_socket* socket, nlmsghdr* request, LinkInfo* reply);
  base::Status set_flag(unsigned flag, bool on, const char* what);
  base::Status change(std::uint16_t attribute, const void* data, std::size_t bytes,
                      const char* what);
  void read_events();
  void ask_state();
  void update(const LinkInfo& info);

  Socket events_;
  Socket requests_;
  base::UniqueFd ioctl_socket_;
  LinkInfo info_;
  bool is_gone_ = false;
  std::vector<char> buffer_;
};

}  // namespace splitnic::lan
