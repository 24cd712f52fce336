// A decorator that writes every datagram sent and received to a capture file. It sits directly
// above the UDP or shm underlay, so the capture has everything: INIT, refused peers, retransmitted
// flits. Not part of the stack without --capture. Thread: one owner, the data thread.
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
  // Buffered datagrams reach the file within kFlushAfter, if receive() is called when due.
  base::Time deadline() const override;

 private:
  void record(PcapngWriter::Direction direction, base::Bytes bytes, std::size_t stride);

  PcapngWriter& out_;
  base::Clock& clock_;
  std::uint32_t interface_;
  base::Duration to_wall_clock_;  // added to the clock's time gives the time since 1970
  base::Time flush_at_ = base::kNever;
};

}  // namespace splitnic::fabric
