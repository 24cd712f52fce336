// The checks between the Raw queue pairs of a node and an interface that carries IPv6 datagrams.
// At the leg to a LAN nobody in the fabric sends in the name of another, nobody on the LAN in that
// of a node, and what is for the fabric does not leave it. At an end node the interface has the
// network address of the node, and all goes to the leg. Datagrams pass unchanged: the kernel at the
// interface is the router that reduces the hop limit. Sans-I/O. Thread: the data thread.
// [S000-14] [S000-48] docs/protocol/raw.md#leg-to-a-lan
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/ip6.h"
#include "fabric_emul/switching/network_layer.h"

namespace splitnic::fabric {

enum class GateSide : std::uint8_t {
  kLan,   // the interface leads to a LAN
  kNode,  // it is that of an end node
};

// A datagram is in one of the first two, or dropped for one of these reasons.
enum class GateCounter {
  kToInterface,      // from the fabric
  kToFabric,         // from the interface
  kDropFormat,       // not one whole IPv6 datagram, or longer than a leg carries
  kDropAddress,      // source or destination is multicast, link-local, loopback or unspecified
  kDropSource,       // not the network address of the sender, or of a LAN that of a node
  kDropDestination,  // to a LAN: in the fabric; at an end node: another one
  kDropPath,         // to a node or leg that there is no link to
  kDropPathLength,   // longer than the cells of its path
  kDropInterface,    // the interface does not take it
  kCount_
};

class DatagramGate {
 public:
  // The longest datagram, with its header: no link on a LAN is too narrow for it.
  static constexpr std::size_t kDatagramBytesMax = base::kIp6MtuMin;

  // `network` of the node outlives this.
  DatagramGate(const NetworkLayer& network, GateSide side) : network_(network), side_(side) {}

  // Whether a datagram that the node of this LID has sent may leave by the interface.
  bool may_leave(Lid from, base::Bytes datagram);
  // The LID that a datagram of the interface is for: that of a node by its destination, or `leg`.
  // LID 0: it is dropped.
  Lid destination_of(base::Bytes datagram, Lid leg);
  void count(GateCounter what) { counters_.add(what); }

  const base::Counters<GateCounter>& counters() const { return counters_; }

 private:
  struct Ends {
    NetworkAddress source, destination;
  };
  // Nothing: it may not pass, and is counted.
  std::optional<Ends> ends_of(base::Bytes datagram);
  bool is_of_fabric(const NetworkAddress& address) const {
    return is_same_subnet(address, *network_.own()) || network_.lid_at(address) != Lid();
  }

  const NetworkLayer& network_;
  const GateSide side_;
  base::Counters<GateCounter> counters_;
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::GateCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::GateCounter::kCount_)>
      kNames{"leg.to_interface", "leg.to_fabric",        "leg.drop.format",
             "leg.drop.address", "leg.drop.source",      "leg.drop.destination",
             "leg.drop.path",    "leg.drop.path_length", "leg.drop.interface"};
};
