// The queue pairs that get IPv6 datagrams from the fabric, by next header, destination port and
// destination address [S000-14]. Bounded; a linear search in the order of their registration.
// Thread: the data thread. docs/protocol/raw.md
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/endian.h"
#include "base/status.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// A datagram matches if all that is given is equal.
struct RawFilter {
  // Of the IPv6 header; extension headers are not followed. Nothing: any.
  std::optional<std::uint8_t> next_header{};
  std::optional<std::uint16_t> port{};  // destination port of TCP and UDP
  std::optional<std::array<std::byte, 16>> destination{};
  friend bool operator==(const RawFilter&, const RawFilter&) = default;
};

class RawFilters {
 public:
  static constexpr std::size_t kFiltersMax = 1024;

  // Refused: the same filter is registered, a port of a protocol without ports, or no room.
  base::Status add(Qpn qpn, const RawFilter& filter) {
    if (filter.port && !(filter.next_header && has_ports(*filter.next_header))) {
      return base::Error("only TCP and UDP have ports", EINVAL);
    }
    if (filters_.size() >= kFiltersMax) {
      return base::Error("no more filters of Raw can be registered", ENOMEM);
    }
    if (std::ranges::find(filters_, filter, &Entry::filter) != filters_.end()) {
      return base::Error("another queue pair has this filter", EADDRINUSE);
    }
    filters_.push_back({filter, qpn});
    return {};
  }
  void remove(Qpn qpn) {
    std::erase_if(filters_, [&](const Entry& entry) { return entry.qpn == qpn; });
  }
  // The queue pair of the first filter that matches. `payload` is behind the header.
  std::optional<Qpn> find(const Gnh& header, base::Bytes payload) const {
    std::optional<std::uint16_t> port;
    if (has_ports(header.next_header) && payload.size() >= 4) {
      port = base::load_be<std::uint16_t>(payload.data() + 2);
    }
    for (const Entry& entry : filters_) {
      const RawFilter& f = entry.filter;
      if ((!f.next_header || *f.next_header == header.next_header) && (!f.port || f.port == port) &&
          (!f.destination || *f.destination == header.destination)) {
        return entry.qpn;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr bool has_ports(std::uint8_t next_header) {
    return next_header == 6 || next_header == 17;
  }
  struct Entry {
    RawFilter filter;
    Qpn qpn;
  };
  std::vector<Entry> filters_;
};

}  // namespace splitnic::fabric
