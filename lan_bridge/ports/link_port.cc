#include "lan_bridge/ports/link_port.h"

namespace splitnic::lan {

std::size_t LinkPort::write(std::span<const base::Bytes> frames) {
  flush();
  std::size_t done = 0;
  while (done < frames.size() && !write_pending()) {
    const base::Bytes frame = frames[done];
    if (is_short(frame)) {
      counters_.add(PortCounter::kTxDropShort);
      ++done;
    } else if (!can_send_whole(frame)) {
      segment_in_software(frame);
      ++done;
    } else if (const std::size_t sent = send_batch(frames.subspan(done)); sent > 0) {
      done += sent;
    } else if (send_one(frame)) {
      ++done;
    } else {
      break;
    }
  }
  return done;
}

}  // namespace splitnic::lan
