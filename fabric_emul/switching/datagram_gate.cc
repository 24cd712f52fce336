#include "fabric_emul/switching/datagram_gate.h"

namespace splitnic::fabric {

// Without a network address of this node there is nothing that a datagram could be checked against.
std::optional<DatagramGate::Ends> DatagramGate::ends_of(base::Bytes datagram) {
  const bool has_header = datagram.size() >= kGnhBytes && datagram.size() <= kDatagramBytesMax;
  const auto header = has_header ? Gnh::parse(datagram.first(kGnhBytes)) : std::nullopt;
  if (!header || header->length != datagram.size() - kGnhBytes) {
    counters_.add(GateCounter::kDropFormat);
    return std::nullopt;
  }
  const Ends ends{NetworkAddress{header->source}, NetworkAddress{header->destination}};
  if (!network_.own() || !is_routable(ends.source) || !is_routable(ends.destination)) {
    counters_.add(GateCounter::kDropAddress);
    return std::nullopt;
  }
  return ends;
}

bool DatagramGate::may_leave(Lid from, base::Bytes datagram) {
  const auto ends = ends_of(datagram);
  if (!ends) return false;
  const bool is_lan = side_ == GateSide::kLan;
  if (is_lan && network_.lid_at(ends->source) != from) {
    counters_.add(GateCounter::kDropSource);
    return false;
  }
  if (is_lan ? is_of_fabric(ends->destination) : ends->destination != network_.own()) {
    counters_.add(GateCounter::kDropDestination);
    return false;
  }
  return true;
}

Lid DatagramGate::destination_of(base::Bytes datagram, Lid leg) {
  const auto ends = ends_of(datagram);
  if (!ends) return Lid();
  const bool is_lan = side_ == GateSide::kLan;
  if (is_lan ? is_of_fabric(ends->source) : ends->source != network_.own()) {
    counters_.add(GateCounter::kDropSource);
    return Lid();
  }
  const Lid to = is_lan ? network_.lid_at(ends->destination) : leg;
  if (to == Lid()) counters_.add(GateCounter::kDropPath);
  return to;
}

}  // namespace splitnic::fabric
