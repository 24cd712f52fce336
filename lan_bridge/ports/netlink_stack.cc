// The interfaces that stand on another one: what comes by it may come by them for the kernel.
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "lan_bridge/ports/netlink_link.h"
#include "lan_bridge/ports/netlink_request.h"

namespace splitnic::lan {
namespace {

struct Stacked {
  unsigned index = 0;
  unsigned master = 0;      // a bridge, a bond, a VRF
  unsigned base_index = 0;  // of a VLAN, a macvlan
  std::string_view kind{};
  bool is_base_elsewhere = false;  // in another network namespace
};

int on_stack_kind(const nlattr* attribute, void* data) {
  if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND) {
    static_cast<Stacked*>(data)->kind = mnl_attr_get_str(attribute);
  }
  return MNL_CB_OK;
}

int on_stack_attribute(const nlattr* attribute, void* data) {
  auto& one = *static_cast<Stacked*>(data);
  switch (mnl_attr_get_type(attribute)) {
    case IFLA_MASTER:
      one.master = mnl_attr_get_u32(attribute);
      break;
    case IFLA_LINK:
      one.base_index = mnl_attr_get_u32(attribute);
      break;
    case IFLA_LINK_NETNSID:
      one.is_base_elsewhere = true;
      break;
    case IFLA_LINKINFO:
      mnl_attr_parse_nested(attribute, on_stack_kind, &one);
      break;
    default:
      break;
  }
  return MNL_CB_OK;
}

int on_link(const nlmsghdr* message, void* data) {
  if (message->nlmsg_type != RTM_NEWLINK ||
      mnl_nlmsg_get_payload_len(message) < sizeof(ifinfomsg)) {
    return MNL_CB_OK;
  }
  ifinfomsg head;
  std::memcpy(&head, mnl_nlmsg_get_payload(message), sizeof head);
  Stacked one{.index = static_cast<unsigned>(head.ifi_index)};
  mnl_attr_parse(message, sizeof(ifinfomsg), on_stack_attribute, &one);
  // The other end of a veth pair is not above it.
  if (one.kind == "veth" || one.is_base_elsewhere) one.base_index = 0;
  one.kind = {};  // it points into the message
  static_cast<std::vector<Stacked>*>(data)->push_back(one);
  return MNL_CB_OK;
}

}  // namespace

base::Result<std::vector<unsigned>> NetlinkLink::stack_of(unsigned index) {
  const auto socket = open_socket(0);
  if (!socket) return socket.error();
  std::array<char, 256> buffer{};
  nlmsghdr* const request =
      begin_netlink_request<ifinfomsg>(buffer, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP).message;
  std::vector<Stacked> all;
  if (auto listed = exchange(socket->get(), request, on_link, &all); !listed) {
    return listed.error().within("listing interfaces");
  }
  std::vector<unsigned> stack{index};
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const auto add = [&stack](unsigned other) {
      if (other != 0 && std::ranges::find(stack, other) == stack.end()) stack.push_back(other);
    };
    for (const Stacked& one : all) {
      if (one.index == stack[i]) add(one.master);
      if (one.base_index == stack[i]) add(one.index);
    }
  }
  return stack;
}

}  // namespace splitnic::lan
