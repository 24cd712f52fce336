// A thing that has passed between the suite and its target. They come one at a time, in the order
// of the line. Spans are valid during the call.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "conformance/transcript.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::conformance {

enum class SeenKind : std::uint8_t {
  kProcess,  // the suite is another host from now on
  kSession,  // a datagram of the session layer, records too
  kIdle,
  kInit,
  kMgmt,
  kSmp,
  kCell,     // of a queue pair
  kMessage,  // a whole Send: its last cell comes before it
};

struct Seen {
  SeenKind kind = SeenKind::kIdle;
  Direction direction = Direction::kSent;
  base::Time at{};
  base::Bytes datagram{};  // kSession
  fabric::Init init{};
  fabric::Mgmt mgmt{};
  fabric::Smp smp{};
  fabric::CellView cell{};
  base::Bytes message{};

  bool is_sent() const { return direction == Direction::kSent; }
  bool is_init(fabric::InitStep step) const { return kind == SeenKind::kInit && init.step == step; }
};

}  // namespace splitnic::conformance
