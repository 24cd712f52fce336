// The observer of one line, or of all lines of one manager: takes their datagrams apart and shows
// them to the watches of the role. What is not valid is not shown: it has no effect on a state.
// Thread: one owner.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/states/watch.h"

namespace splitnic::conformance {

class Observer {
 public:
  // `coverage` outlives this.
  Observer(Coverage& coverage, Role role);

  void begin_process(base::Time now);
  // A datagram of flits, without its record.
  void on_flits(Direction direction, base::Time now, base::Bytes datagram);
  // A cell of the full profile, whose flits may each have a part of it.
  void on_whole_cell(Direction direction, base::Time now, base::Bytes cell);
  // Any datagram on a keyed line, as it is on the carrier.
  void on_carrier(Direction direction, base::Time now, base::Bytes datagram);

 private:
  void show(const Seen& seen);
  void on_cell(Seen& seen, base::Bytes bytes, bool crc_head_only);
  void on_management(Seen& seen);

  const Role role_;
  std::vector<std::unique_ptr<Watch>> watches_;
  bool is_full_ = false;  // the last READY was of the full profile
  // The Send that has begun, by direction and queue pair.
  struct Partial {
    std::uint32_t next_csn = 0;
    std::vector<std::byte> bytes;
  };
  std::map<std::pair<Direction, std::uint32_t>, Partial> partial_;
};

}  // namespace splitnic::conformance
