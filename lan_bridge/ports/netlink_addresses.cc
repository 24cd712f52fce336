// The addresses that an interface is to receive besides its own: the kernel dumps them as the
// forwarding database of the interface itself, unicast and groups.
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "lan_bridge/ports/netlink_link.h"
#include "lan_bridge/ports/netlink_request.h"

namespace splitnic::lan {
namespace {

struct ListedAddresses {
  unsigned index = 0;  // of the interface
  AddressLists lists{};
};

int on_neighbour_attribute(const nlattr* attribute, void* data) {
  auto& mac = *static_cast<std::optional<MacAddress>*>(data);
  if (mnl_attr_get_type(attribute) != NDA_LLADDR) return MNL_CB_OK;
  if (mnl_attr_get_payload_len(attribute) != sizeof(MacAddress)) return MNL_CB_OK;
  mac.emplace();
  std::memcpy(mac->data(), mnl_attr_get_payload(attribute), mac->size());
  return MNL_CB_OK;
}

// A bridge reports what it has learnt behind the interface in the same dump, without NTF_SELF.
int on_listed(const nlmsghdr* message, void* data) {
  auto& out = *static_cast<ListedAddresses*>(data);
  if (message->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(message) < sizeof(ndmsg)) {
    return MNL_CB_OK;
  }
  ndmsg head;
  std::memcpy(&head, mnl_nlmsg_get_payload(message), sizeof head);
  const bool is_listed =
      static_cast<unsigned>(head.ndm_ifindex) == out.index && (head.ndm_flags & NTF_SELF) != 0;
  if (!is_listed) return MNL_CB_OK;
  std::optional<MacAddress> mac;
  mnl_attr_parse(message, sizeof(ndmsg), on_neighbour_attribute, &mac);
  AddressLists& lists = out.lists;
  if (!mac || lists.unicast.size() + lists.multicast.size() >= AddressLists::kEntriesMax) {
    return MNL_CB_OK;
  }
  (is_multicast(*mac) ? lists.multicast : lists.unicast).push_back(*mac);
  return MNL_CB_OK;
}

void sort_once_each(std::vector<MacAddress>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

std::optional<AddressLists> NetlinkLink::address_lists() {
  std::array<char, 256> buffer{};
  const auto request =
      begin_netlink_request<ifinfomsg>(buffer, RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP);
  request.head->ifi_family = AF_BRIDGE;
  request.head->ifi_index = static_cast<int>(info_.index);
  ListedAddresses listed;
  listed.index = info_.index;
  if (!exchange(requests_.get(), request.message, on_listed, &listed)) return std::nullopt;
  listed.lists.promiscuity = query_promiscuity();
  if (!listed.lists.promiscuity) return std::nullopt;
  sort_once_each(listed.lists.unicast);
  sort_once_each(listed.lists.multicast);
  return listed.lists;
}

}  // namespace splitnic::lan
