// A decorator that writes every datagram that the carrier took or gave to a capture. Sits right
// above the carrier, so nothing passes it by: INIT, refused peers and resent flits are all there.
// Not in the stack at all without --capture. Thread: one owner, the data thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "fabric_emul/underlay/pcapng_writer.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::fabric {

class CaptureUnderlay final : public UnderlayDecorator {
 public:
  static constexpr base::Duration kFlushAfter = std::chrono::seconds(1);

  // Adds an interface `name` to `out`. All three outlive this. Several may share one writer if they
  // share the thread.
  CaptureUnderlay(Underlay& below, PcapngWriter& out, base::Clock& clock, std::string_view name);

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  // What is buffered comes to the file within kFlushAfter, if receive() is called when due.
  base::Time deadline() const override;

 private:
  void record(PcapngWriter::Direction direction, base::Bytes bytes, std::size_t stride);

  PcapngWriter& out_;
  base::Clock& clock_;
  std::uint32_t interface_;
  base::Duration to_wall_clock_;  // what to add to the clock's time for time since 1970
  base::Time flush_at_ = base::kNever;
};

}  // namespace splitnic::fabric
