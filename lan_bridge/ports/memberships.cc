#include "lan_bridge/ports/memberships.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "lan_bridge/ports/packet_socket.h"

namespace splitnic::lan {
namespace {

using List = std::vector<MacAddress>;

List without(const List& all, const List& excluded) {
  List out;
  std::ranges::set_difference(all, excluded, std::back_inserter(out));
  return out;
}

// Memberships of one socket, to be added or dropped. The first failure is kept.
class Change {
 public:
  Change(int fd, unsigned interface_index, int option)
      : fd_(fd), index_(interface_index), option_(option) {}

  void mode(unsigned short type, bool is_due) {
    if (is_due) apply(type, nullptr);
  }
  void addresses(unsigned short type, const List& all) {
    for (const MacAddress& mac : all) apply(type, &mac);
  }
  const base::Status& status() const { return status_; }

 private:
  void apply(unsigned short type, const MacAddress* mac) {
    packet_mreq request{};
    request.mr_ifindex = static_cast<int>(index_);
    request.mr_type = type;
    if (mac != nullptr) {
      request.mr_alen = static_cast<unsigned short>(mac->size());
      std::ranges::copy(*mac, request.mr_address);
    }
    if (!set_option(fd_, SOL_PACKET, option_, request) && status_) {
      status_ = base::Error::from_errno("setting the receive filter", errno);
    }
  }

  int fd_;
  unsigned index_;
  int option_;
  base::Status status_{};
};

// Requests what `to` has and `from` has not.
base::Status apply(Change change, const ReceiveFilter& from, const ReceiveFilter& to) {
  change.mode(PACKET_MR_PROMISC, to.promiscuous && !from.promiscuous);
  change.mode(PACKET_MR_ALLMULTI, to.all_multicast && !from.all_multicast);
  change.addresses(PACKET_MR_UNICAST, without(to.unicast, from.unicast));
  change.addresses(PACKET_MR_MULTICAST, without(to.multicast, from.multicast));
  return change.status();
}

}  // namespace

base::Status Memberships::set(int fd, unsigned interface_index, const ReceiveFilter& wanted) {
  const auto added = apply({fd, interface_index, PACKET_ADD_MEMBERSHIP}, current_, wanted);
  const auto dropped = apply({fd, interface_index, PACKET_DROP_MEMBERSHIP}, wanted, current_);
  current_ = wanted;
  return added ? dropped : added;
}

base::Status Memberships::move_to(int fd, unsigned interface_index, const ReceiveFilter& had) {
  const ReceiveFilter wanted = std::exchange(current_, had);
  return set(fd, interface_index, wanted);
}

}  // namespace splitnic::lan
