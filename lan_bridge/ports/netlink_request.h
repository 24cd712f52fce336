// A request to the kernel by rtnetlink: its header, and the fixed part that is in front of its
// attributes.
#pragma once

#include <libmnl/libmnl.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace splitnic::lan {

template <class Head>
struct NetlinkRequest {
  nlmsghdr* message;
  Head* head;  // zero, and so of AF_UNSPEC
};

// Begins a request in `buffer`, which has room for its attributes and outlives it.
template <class Head, std::size_t kBytes>
NetlinkRequest<Head> begin_netlink_request(std::array<char, kBytes>& buffer, std::uint16_t type,
                                           std::uint16_t flags) {
  nlmsghdr* const message = mnl_nlmsg_put_header(buffer.data());
  message->nlmsg_type = type;
  message->nlmsg_flags = flags;
  return {message, static_cast<Head*>(mnl_nlmsg_put_extra_header(message, sizeof(Head)))};
}

}  // namespace splitnic::lan
