// Hosts -> LAN, and host -> host. Each host in turn, all that it has sent up to a bound; what the
// LAN port cannot take now stays in its host's elements, which is that host's back pressure and
// nobody else's.
#include <algorithm>
#include <array>

#include "iou_module/lan_nic.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {
namespace {

// Of one host in one turn: all receive slots of the send mode, where a frame that is not taken out
// keeps the slot of one that comes.
constexpr std::size_t kBatchesMax = 8;

}  // namespace

bool LanNic::move_from_hosts(base::Time now) {
  bool did = false;
  is_blocked_ = false;
  const std::size_t count = sessions_.size();
  for (std::size_t i = 0; i < count; ++i) {
    HostSession& host = *sessions_[(next_session_ + i) % count];
    if (host.is_heard()) did |= move_from(host, now);
  }
  if (count > 0) next_session_ = (next_session_ + 1) % count;
  return did;
}

bool LanNic::move_from(HostSession& host, base::Time now) {
  bool did = false;
  for (std::size_t batch = 0; batch < kBatchesMax; ++batch) {
    if (host.from_host_done == host.from_host.size()) {
      host.from_host.resize(kBatch);
      host.from_host.resize(host.pair().receive(host.from_host));
      host.from_host_done = host.from_host_judged = 0;
    }
    if (host.from_host.empty()) break;
    did |= write_received(host, now);
    if (is_blocked_) break;
  }
  return did;
}

// Is this frame of a host fit to go anywhere? Its virtio-net header is written anew.
bool LanNic::check(HostSession& host, base::MutableBytes frame) {
  if (!host.nic.started) {
    host.counters.add(SessionCounter::kDropStopped);
    return false;
  }
  if (frame.size() < lan::kVnetHeaderBytes + lan::kEthernetBytes) {
    host.counters.add(SessionCounter::kDropShort);
    return false;
  }
  if (lan::rebuild(frame, host.nic.features, host.nic.mtu) != lan::VnetVerdict::kGood) {
    host.counters.add(SessionCounter::kDropVnet);
    return false;
  }
  const base::Bytes ethernet = frame.subspan(lan::kVnetHeaderBytes);
  if (!host.nic.filter.promiscuous && !host.nic.owns(lan::source_mac(ethernet))) {
    host.counters.add(SessionCounter::kDropSpoof);
    return false;
  }
  return true;
}

// Gives it to other hosts that it is for. True: it is for the LAN too.
bool LanNic::give_to_hosts(HostSession& host, base::Bytes frame) {
  if (sessions_.size() == 1) return true;
  const lan::MacAddress destination = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  const bool is_hosts = !lan::is_multicast(destination) && is_taken(host, destination);
  const bool is_wanted = distribute(frame, &host);
  if (!is_hosts) return true;
  if (is_wanted)
    counters_.add(LanCounter::kHostToHost);
  else
    host.counters.add(SessionCounter::kDropAway);
  return false;
}

// Frames for the LAN, in order; a frame that is not ends the run.
struct LanNic::Run {
  std::size_t frames = 0;
  bool has_other = false;  // one more has been dealt with, and goes when those before it have gone
};

// Each frame is judged and given to other hosts once: settings may change while it waits, and the
// peer cannot write to it any more [S001-14].
LanNic::Run LanNic::gather(HostSession& host, std::span<base::Bytes> out) {
  Run run;
  base::MutableBytes room(tagged_.get(), kTaggedBytes);
  for (std::size_t at = host.from_host_done; at < host.from_host.size(); ++at) {
    const base::MutableBytes frame = host.from_host[at].bytes;
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

bool LanNic::write_received(HostSession& host, base::Time now) {
  bool did = false;
  std::array<base::Bytes, kBatch> out;
  while (host.from_host_done < host.from_host.size()) {
    if (is_blocked_) return did;
    const Run run = gather(host, out);
    const std::size_t written = run.frames > 0 ? port_.write({out.data(), run.frames}) : 0;
    const std::size_t taken = written + (run.has_other && written == run.frames ? 1 : 0);
    for (std::size_t i = 0; i < taken; ++i) {
      const messaging::ReceivedFrame& frame = host.from_host[host.from_host_done++];
      host.counters.add(SessionCounter::kFromHostFrames);
      host.counters.add(SessionCounter::kFromHostBytes, frame.bytes.size());
      host.rmon.count_from_host(frame.bytes);
      if (i < written) {
        counters_.add(LanCounter::kTxFrames);
        counters_.add(LanCounter::kTxBytes, out[i].size());
      }
      host.pair().release(frame, now);
    }
    did |= taken > 0;
    if (written < run.frames) is_blocked_ = true;
  }
  return did;
}

}  // namespace splitnic::iou
