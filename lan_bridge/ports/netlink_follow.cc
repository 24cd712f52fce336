// The events of an interface (read_events(), the normal path of every NetlinkLink), and one whose
// interface has left: it is in another network namespace, where queries carry the number of that
// namespace and events the number of theirs, or it was deleted and may come back.
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lan_bridge/ports/netlink_link.h"
#include "lan_bridge/ports/netlink_request.h"

namespace splitnic::lan {
namespace {

constexpr std::uint32_t kNoId = ~0U;  // a namespace without one; in a request: any
using NamespaceRequest = std::array<char, 256>;

nlmsghdr* begin_namespace_request(NamespaceRequest& buffer, std::uint16_t type, int file) {
  nlmsghdr* const request =
      begin_netlink_request<rtgenmsg>(buffer, type, NLM_F_REQUEST | NLM_F_ACK).message;
  mnl_attr_put_u32(request, NETNSA_FD, static_cast<std::uint32_t>(file));
  return request;
}

// The namespace that a message of a socket that listens everywhere is from; none: its own.
std::optional<std::uint32_t> namespace_of(msghdr& message) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_NETLINK || at->cmsg_type != NETLINK_LISTEN_ALL_NSID) continue;
    std::uint32_t id = 0;
    std::memcpy(&id, CMSG_DATA(at), sizeof id);
    if (id != kNoId) return id;
  }
  return std::nullopt;
}

}  // namespace

void NetlinkLink::listen_everywhere() {
  const int on = 1;
  listens_everywhere_ =
      ::setsockopt(event_fd(), SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &on, sizeof on) == 0;
}

base::Result<std::uint32_t> NetlinkLink::id_of(const base::UniqueFd& network_namespace) {
  NamespaceRequest buffer{};
  LinkInfo reply;
  const auto ask = [&] {
    return query(requests_.get(),
                 begin_namespace_request(buffer, RTM_GETNSID, network_namespace.get()), &reply);
  };
  if (auto asked = ask(); !asked) return asked.error();
  if (reply.namespace_id != kNoId) return reply.namespace_id;
  nlmsghdr* request = begin_namespace_request(buffer, RTM_NEWNSID, network_namespace.get());
  mnl_attr_put_u32(request, NETNSA_NSID, kNoId);
  if (auto numbered = query(requests_.get(), request, nullptr); !numbered) return numbered.error();
  if (auto asked = ask(); !asked) return asked.error();
  return reply.namespace_id;
}

base::Status NetlinkLink::follow(const base::UniqueFd& network_namespace, const std::string& name) {
  struct stat there {};
  if (::fstat(network_namespace.get(), &there) != 0) {
    return base::Error::from_errno("following " + name, errno);
  }
  std::optional<std::uint32_t> id;
  if (there.st_ino != home_) {
    if (!listens_everywhere_) {
      return base::Error(name +
                             ": it is in another network namespace, which takes "
                             "CAP_NET_BROADCAST to follow",
                         EPERM);
    }
    const auto numbered = id_of(network_namespace);
    if (!numbered) return numbered.error().within("following " + name);
    id = *numbered;
  }
  const auto found = find(requests_.get(), name, id);
  if (!found) return found.error();
  if (!*found) return base::Error(name + ": no such interface", ENODEV);
  namespace_id_ = id;
  is_gone_ = is_back_ = false;
  update(**found);
  return {};
}

base::Result<std::unique_ptr<NetlinkLink>> NetlinkLink::expect(const std::string& name) {
  auto link = open_sockets();
  if (!link) return link.error();
  (*link)->info_.name = name;
  (*link)->is_gone_ = true;
  // It may have come after the caller looked, and before there was a socket for events.
  (*link)->look_for_name();
  return link;
}

base::Status NetlinkLink::return_as(unsigned index) {
  read_events();
  const auto found = find(requests_.get(), info_.name, std::nullopt);
  if (!found) return found.error();
  if (!*found || (*found)->index != index) {
    return base::Error(info_.name + ": it has gone once more", ENODEV);
  }
  is_gone_ = is_back_ = false;
  update(**found);
  return {};
}

// The interface is gone: is there one of its name?
void NetlinkLink::on_event_of_another(const LinkInfo& info, bool is_deleted) {
  if (!is_deleted && info.name == info_.name) {
    set_back(info.state.admin_up);
    back_index_ = info.index;
  } else if (info.index == back_index_) {  // deleted, or renamed
    set_back(false);
  }
}

void NetlinkLink::set_back(bool is_back) {
  if (std::exchange(is_back_, is_back) != is_back) ++changes_;
}

void NetlinkLink::look_for_name() {
  const auto found = find(requests_.get(), info_.name, std::nullopt);
  set_back(found && *found && (*found)->state.admin_up);
  if (is_back_) back_index_ = (*found)->index;
}

void NetlinkLink::read_events() {
  for (;;) {
    iovec io{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
    sockaddr_nl from{};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(event_fd(), &message, 0);
    const bool is_whole = n > 0 && (message.msg_flags & MSG_TRUNC) == 0 && from.nl_pid == 0;
    if (is_whole) {
      if (namespace_of(message) != namespace_id_) continue;
      on_events(buffer_.data(), static_cast<std::size_t>(n));
    } else if (n > 0 || (n < 0 && errno == ENOBUFS)) {
      if (!is_gone_) query_state();  // events were lost
      if (is_gone_) look_for_name();
    } else if (n == 0 || errno != EINTR) {
      return;
    }
  }
}

}  // namespace splitnic::lan
