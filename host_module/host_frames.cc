// The frames of a host: from the interface to the I/O unit, and back.
#include <algorithm>
#include <array>
#include <cstddef>

#include "host_module/host.h"
#include "lan_bridge/frame/flow.h"
#include "lan_bridge/frame/traffic_class.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::host {
namespace {

constexpr std::size_t kRxBatchesMax = 8;  // per iteration: all receive slots of the send mode

}  // namespace

bool Host::move_frames(base::Time now, bool tap_readable) {
  const bool is_ending = is_stopping_ || is_renewing();
  bool made_progress = connection_->poll(now);
  if (connection_->up()) {
    made_progress |= move_rx(now);
    made_progress |= move_tx(now, tap_readable && !is_ending);
  } else if (is_ending) {
    made_progress |= move_rx(now);
  }
  if (is_ending && connection_->up() && pending_.empty()) connection_->begin_close();
  return made_progress;
}

ReportedRings Host::rings() const {
  const messaging::PairConfig pair =
      messaging::share_of(config_.pair, static_cast<std::uint32_t>(connection_->queues()));
  ReportedRings rings;
  rings.tx_max = config_.tx_frames_max;
  if (connection_->first().mode() == messaging::Mode::kSend) {  // receives in place of pools
    rings.rx = rings.rx_max = pair.frame_slots * connection_->queues();
    rings.tx = rings.tx_max;
    return rings;
  }
  for (const messaging::PoolSpec& pool : pair.pools) {
    rings.rx_max += pool.count * connection_->queues();
  }
  for (const messaging::PoolView& pool : connection_->pools()) {
    if (!pool.is_ending) (pool.ours ? rings.rx : rings.tx) += pool.elements;
  }
  rings.rx_max = std::max(rings.rx_max, rings.rx);  // the unit may have requested more pools
  rings.tx = std::min(rings.tx, rings.tx_max);
  return rings;
}

// Elements -> the port, all that arrived: in send mode a frame that stays would take the slot of
// the next one.
bool Host::move_rx(base::Time now) {
  bool made_progress = false;
  for (std::size_t batch = 0; batch < kRxBatchesMax; ++batch) {
    if (rx_done_ == rx_.size()) {
      rx_.resize(kFramesPerBatch);
      rx_.resize(connection_->receive(rx_));
      rx_done_ = 0;
    }
    if (rx_.empty()) break;
    made_progress |= write_received(now);
    if (rx_blocked_) break;
  }
  return made_progress;
}

// A frame that the port cannot take now stays in its element, and the peer waits for the element.
bool Host::write_received(base::Time now) {
  bool made_progress = false;
  rx_blocked_ = false;
  std::array<base::Bytes, kFramesPerBatch> out;
  while (rx_done_ < rx_.size()) {
    // The header is rebuilt before every attempt: offloads and MTU may have changed since. Nobody
    // writes to a FILLED element [S001-14].
    std::size_t count = 0;
    const std::size_t first = rx_done_;
    for (; first + count < rx_.size(); ++count) {
      messaging::ReceivedFrame& frame = rx_[first + count];
      if (lan::rebuild(frame.bytes, tap_.offloads(), nic_.mtu()) != lan::VnetVerdict::kGood) break;
      out[count] = frame.bytes;
    }
    const std::size_t written = count > 0 ? tap_.write({out.data(), count}) : 0;
    for (std::size_t i = 0; i < written; ++i) {
      counters_.add(HostCounter::kRxFrames);
      counters_.add(HostCounter::kRxBytes, rx_[rx_done_].bytes.size());
      connection_->release(rx_[rx_done_++], now);
    }
    made_progress |= written > 0;
    if (written < count) {
      rx_blocked_ = true;
      return made_progress;
    }
    if (rx_done_ < rx_.size()) {  // the one that did not pass
      counters_.add(HostCounter::kRxDropVnet);
      connection_->release(rx_[rx_done_++], now);
      made_progress = true;
    }
  }
  return made_progress;
}

bool Host::push(base::Bytes frame, base::Time now) {
  if (connection_->queues() == 1) return connection_->push(frame, 0, now);
  if (!qos_queues_.is_on()) return connection_->push(frame, lan::flow_of(frame), now);
  const lan::TrafficClass found = lan::class_of(frame);
  return connection_->push_on(qos_queues_.queue_of(found.priority, found.code_point), frame, now);
}

bool Host::push_pending(base::Time now) {
  while (!pending_.empty()) {
    const base::Bytes frame = pending_.front();
    if (!push(frame, now)) {
      counters_.add(HostCounter::kWait);
      return false;
    }
    counters_.add(HostCounter::kTxFrames);
    counters_.add(HostCounter::kTxBytes, frame.size());
    pending_.pop();
  }
  return true;
}

// A gratuitous ARP or an unsolicited neighbour advertisement for each address that is left, as far
// as there is room. Returns whether there was. REQUIRES that nothing is pending.
bool Host::announce() {
  std::size_t count = 0;
  for (; count < unannounced_.size() && !pending_.full(); ++count) {
    const base::MutableBytes room = tx_ring_->reserve(lan::kAnnounceBytesMax);
    if (room.empty()) break;
    const base::MutableBytes frame = lan::emit_announcement(room, nic_.mac(), unannounced_[count]);
    tx_ring_->commit(frame.data() + frame.size());
    pending_.push(frame);
    counters_.add(HostCounter::kTxAnnounced);
  }
  unannounced_.erase(unannounced_.begin(),
                     unannounced_.begin() + static_cast<std::ptrdiff_t>(count));
  return count > 0;
}

// The port -> elements. A frame is read only when everything read before it was pushed, and when
// the remote NIC is configured: before that it would drop every frame.
bool Host::move_tx(base::Time now, bool tap_readable) {
  bool made_progress = false;
  for (std::size_t done = connection_->take_completed(); done > 0; --done) {
    tx_ring_->release();
    made_progress = true;
  }
  if (!push_pending(now) || !nic_.configured()) return made_progress;
  if (nic_.take_announce() && config_.addresses) unannounced_ = config_.addresses();
  if (!is_stopping_ && !is_renewing() && announce()) {
    made_progress = true;
    if (!push_pending(now)) return made_progress;
  }
  if (!tap_readable || !wants_tap_input()) return made_progress;
  tap_.set_frame_bytes_max(connection_->frame_bytes_max());  // pools come and end
  std::array<base::Bytes, kFramesPerBatch> frames;
  const lan::ReadBatch batch = tap_.read(*tx_ring_, frames);
  for (std::size_t i = 0; i < batch.frames; ++i) {
    if (frames[i].size() > connection_->frame_bytes_max()) {
      counters_.add(HostCounter::kTxDropTooLong);
      tx_ring_->discard(frames[i].data() + frames[i].size());
      continue;
    }
    pending_.push(frames[i]);
  }
  push_pending(now);
  return made_progress || batch.frames > 0;
}

}  // namespace splitnic::host
