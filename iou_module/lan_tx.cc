// Hosts -> LAN, and host -> host: deficit round robin by bytes. While several hosts wait each gives
// a share in its turn, so a host of super-frames gets no more of the LAN than one of small frames.
// What the LAN port cannot take now stays in its host's elements, which is that host's back
// pressure and nobody else's; its turn goes on when the port takes frames again.
#include <algorithm>
#include <array>

#include "iou_module/lan_nic.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {
namespace {

// Of one host in one step: all receive slots of the send mode, where a frame that is not taken out
// keeps the slot of one that comes.
constexpr unsigned kBatchesMax = 8;
// Of one host in one turn while others wait: two super-frames.
constexpr std::size_t kShareBytes = 128 * 1024;

}  // namespace

// Frames for the LAN, in order; a frame that is not ends the run.
struct LanNic::Run {
  std::size_t frames = 0;
  bool has_other = false;  // one more has been dealt with, and goes when those before it have gone
};

bool LanNic::move_from_hosts(base::Time now) {
  is_blocked_ = false;
  std::size_t waiting = 0;
  for (const auto& s : hosts_) {
    s->batches_left = kBatchesMax;
    if (s->is_heard() && refill(*s)) ++waiting;
  }
  bool made_progress = false;
  for (std::size_t idle = 0; idle < hosts_.size(); ++next_host_) {
    next_host_ %= hosts_.size();
    AttachedHost& host = *hosts_[next_host_];
    const bool waits = host.is_heard() && refill(host);
    if (waits)
      made_progress |= take_turn(host, waiting > 1, now);
    else
      host.share_left = 0;  // what it did not need is not kept for later
    if (is_blocked_) break;
    is_turn_open_ = false;
    idle = waits ? 0 : idle + 1;
  }
  if (is_blocked_) made_progress |= give_past_lan(now);
  return made_progress;
}

// False: nothing is left to give in this step.
bool LanNic::refill(AttachedHost& host) {
  if (host.from_host_done < host.from_host.size()) return true;
  const std::size_t arrived = std::min(kBatch, host.pair().unreceived());
  if (arrived > 0 && host.batches_left == 0) return false;
  if (arrived > 0) --host.batches_left;
  host.from_host.resize(arrived);
  host.from_host.resize(host.pair().receive(host.from_host));
  host.from_host_done = host.from_host_judged = 0;
  return !host.from_host.empty();
}

// A host that is alone gives all that a step may take.
bool LanNic::take_turn(AttachedHost& host, bool others_wait, base::Time now) {
  if (!is_turn_open_) host.share_left += kShareBytes;
  is_turn_open_ = true;
  std::size_t share = others_wait ? host.share_left : SIZE_MAX;
  bool made_progress = false;
  do {
    made_progress |= write_received(host, share, now);
  } while (host.from_host_done == host.from_host.size() && refill(host));
  host.share_left = others_wait ? share : 0;
  is_turn_open_ = others_wait;  // one that was alone begins anew
  return made_progress;
}

// While the LAN is blocked frames for other hosts go on, up to the first that is for the LAN.
bool LanNic::give_past_lan(base::Time now) {
  bool made_progress = false;
  std::array<base::Bytes, kBatch> out;
  for (const auto& s : hosts_) {
    while (s->is_heard() && refill(*s)) {
      const bool is_known = s->from_host_done < s->from_host_judged;
      if (is_known && !s->is_not_for_lan[s->from_host_done]) break;
      const Run run = gather(*s, out, SIZE_MAX);
      if (run.frames > 0 || !run.has_other) break;
      take_out(*s, {}, 1, now);
      made_progress = true;
    }
  }
  return made_progress;
}

// Is this frame of a host fit to go anywhere? Its virtio-net header is written anew.
bool LanNic::check(AttachedHost& host, base::MutableBytes frame) {
  if (!host.nic.started) {
    host.counters.add(HostCounter::kDropStopped);
    return false;
  }
  if (frame.size() < lan::kVnetHeaderBytes + lan::kEthernetBytes) {
    host.counters.add(HostCounter::kDropShort);
    return false;
  }
  // An indication may name several elements, so its length says nothing of a frame's.
  if (frame.size() > lan::kFrameBytesMax ||
      lan::rebuild(frame, host.nic.features, host.nic.mtu) != lan::VnetVerdict::kGood) {
    host.counters.add(HostCounter::kDropVnet);
    return false;
  }
  const base::Bytes ethernet = frame.subspan(lan::kVnetHeaderBytes);
  if (!host.nic.filter.promiscuous && !host.nic.owns(lan::source_mac(ethernet))) {
    host.counters.add(HostCounter::kDropSpoof);
    return false;
  }
  return true;
}

// Gives it to other hosts that it is for. True: it is for the LAN too.
bool LanNic::give_to_hosts(AttachedHost& host, base::Bytes frame) {
  if (hosts_.size() == 1) return true;
  const lan::MacAddress destination = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  const bool is_hosts = !lan::is_multicast(destination) && is_taken(host, destination);
  const bool is_wanted = distribute(frame, &host);
  if (!is_hosts) return true;
  if (is_wanted)
    counters_.add(LanCounter::kHostToHost);
  else
    host.counters.add(HostCounter::kDropAway);
  return false;
}

// Each frame is judged and given to other hosts once: settings may change while it waits, and the
// peer cannot write to it any more [S001-14]. All of them together are at most `share` bytes.
LanNic::Run LanNic::gather(AttachedHost& host, std::span<base::Bytes> out, std::size_t share) {
  Run run;
  base::MutableBytes room(tagged_.get(), kTaggedBytes);
  for (std::size_t at = host.from_host_done; at < host.from_host.size(); ++at) {
    const base::MutableBytes frame = host.from_host[at].bytes;
    if (frame.size() > share) break;
    share -= frame.size();
    base::Bytes leaves = frame;
    const bool is_new = at >= host.from_host_judged;
    bool is_for_lan = is_new ? check(host, frame) : !host.is_not_for_lan[at];
    if (is_new) {
      host.tag_of[at] = is_for_lan && host.nic.vlans.tags(frame) ? host.nic.vlans.pvid() : 0;
    }
    if (is_for_lan && host.tag_of[at] != 0) {
      if (room.size() < frame.size() + lan::kVlanTagBytes) break;
      leaves = copy_with_tag(frame, host.tag_of[at], room);
      room = room.subspan(frame.size() + lan::kVlanTagBytes);
    }
    if (is_for_lan && is_new) is_for_lan = give_to_hosts(host, leaves);
    if (is_new) {
      host.is_not_for_lan[at] = !is_for_lan;
      host.from_host_judged = at + 1;
    }
    if (!is_for_lan) {
      run.has_other = true;
      break;
    }
    out[run.frames++] = leaves;
  }
  return run;
}

// Until its share is used up, the LAN port is blocked or all is written.
bool LanNic::write_received(AttachedHost& host, std::size_t& share, base::Time now) {
  bool made_progress = false;
  std::array<base::Bytes, kBatch> out;
  while (host.from_host_done < host.from_host.size() && !is_blocked_) {
    const Run run = gather(host, out, share);
    const std::size_t written = run.frames > 0 ? port_.write({out.data(), run.frames}) : 0;
    const std::size_t taken = written + (run.has_other && written == run.frames ? 1 : 0);
    is_blocked_ = written < run.frames;
    if (taken == 0) return made_progress;
    share -= take_out(host, {out.data(), written}, taken, now);
    made_progress = true;
  }
  return made_progress;
}

// The first `taken` frames of a host are dealt with, of which `written` went to the LAN. Returns
// their bytes.
std::size_t LanNic::take_out(AttachedHost& host, std::span<const base::Bytes> written,
                             std::size_t taken, base::Time now) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < taken; ++i) {
    const messaging::ReceivedFrame& frame = host.from_host[host.from_host_done++];
    bytes += frame.bytes.size();
    host.counters.add(HostCounter::kFromHostFrames);
    host.counters.add(HostCounter::kFromHostBytes, frame.bytes.size());
    host.rmon.count_from_host(frame.bytes);
    if (i < written.size()) {
      counters_.add(LanCounter::kTxFrames);
      counters_.add(LanCounter::kTxBytes, written[i].size());
    }
    host.pair().release(frame, now);
  }
  return bytes;
}

}  // namespace splitnic::iou
