#include "iou_module/nic/lan_tx.h"

#include <array>

#include "lan_bridge/frame/vnet_header.h"
#include "lan_bridge/frame/wire_bytes.h"

namespace splitnic::iou {
namespace {

constexpr std::size_t kTaggedBytes = 512 * 1024;

AttachedHostCounter reason_of(HostMeter::Verdict verdict) {
  return verdict == HostMeter::Verdict::kStorm ? AttachedHostCounter::kDropStorm
                                               : AttachedHostCounter::kDropRate;
}

// Returns true if a frame of a host may be forwarded, with its virtio-net header rebuilt; else it
// is counted by the reason to drop it.
bool check_frame(AttachedHost& host, base::MutableBytes frame, const lan::WireCost& cost,
                 base::Time now) {
  const auto drop = [&](AttachedHostCounter reason) {
    host.stats().count(reason);
    return false;
  };
  const NicSettings& nic = host.nic();
  if (!nic.started) return drop(AttachedHostCounter::kDropStopped);
  if (frame.size() < lan::kVnetHeaderBytes + lan::kEthernetBytes) {
    return drop(AttachedHostCounter::kDropShort);
  }
  if (lan::rebuild(frame, nic.features, nic.mtu) != lan::VnetVerdict::kGood) {
    return drop(AttachedHostCounter::kDropVnet);
  }
  const base::Bytes ethernet = frame.subspan(lan::kVnetHeaderBytes);
  if (!host.rights().may_forge && !nic.owns(lan::source_mac(ethernet))) {
    return drop(AttachedHostCounter::kDropSpoof);
  }
  const VlanLimit& vlans = host.allowance().vlans();
  if (vlans.is_restricted() && !vlans.passes(frame, nic.vlans.pvid())) {
    return drop(AttachedHostCounter::kDropVlanSent);
  }
  const bool is_group = lan::is_multicast(lan::destination_mac(ethernet));
  const HostMeter::Verdict verdict = host.allowance().meter().take(is_group, cost, now);
  if (verdict != HostMeter::Verdict::kPass) return drop(reason_of(verdict));
  return true;
}

}  // namespace

LanTx::LanTx(lan::FramePort& port, HostTable& hosts, base::Counters<LanCounter>& counters)
    : port_(port),
      hosts_(hosts),
      counters_(counters),
      tagged_(std::make_unique_for_overwrite<std::byte[]>(kTaggedBytes)) {}

bool LanTx::step(base::Time now) {
  is_blocked_ = false;
  std::size_t waiting = 0;
  for (const auto& host : hosts_) {
    HostRx& rx = host->rx();
    rx.batch().begin_iteration();
    if (rx.is_heard() && rx.refill()) ++waiting;
  }
  bool made_progress = false;
  for (std::size_t idle = 0; idle < hosts_.size();) {
    AttachedHost& host = hosts_[round_robin_.current(hosts_.size())];
    const bool has_frames = host.rx().is_heard() && host.rx().refill();
    if (has_frames)
      made_progress |= serve(host, waiting > 1, now);
    else
      DeficitRoundRobin::on_empty(host.rx().deficit());
    if (is_blocked_) break;
    round_robin_.advance();
    idle = has_frames ? 0 : idle + 1;
  }
  if (is_blocked_) made_progress |= deliver_past_lan(now);
  return made_progress;
}

// One visit of the round robin. A lone host forwards all that an iteration may receive.
bool LanTx::serve(AttachedHost& host, bool is_shared, base::Time now) {
  HostRx& rx = host.rx();
  std::size_t bytes_left = round_robin_.begin(rx.deficit(), is_shared);
  bool made_progress = false;
  do {
    made_progress |= forward(host, bytes_left, now);
  } while (rx.batch().empty() && rx.refill());
  round_robin_.end(rx.deficit(), bytes_left, is_shared);
  return made_progress;
}

// Forwards received frames until bytes_left is used up, the LAN port is blocked or none is left.
bool LanTx::forward(AttachedHost& host, std::size_t& bytes_left, base::Time now) {
  bool made_progress = false;
  std::array<base::Bytes, kBatch> out;
  const HostRxBatch& batch = host.rx().batch();
  while (!batch.empty() && !is_blocked_) {
    const Run run = gather(host, out, bytes_left, now);
    const std::size_t written = run.frames > 0 ? port_.write({out.data(), run.frames}) : 0;
    const std::size_t done = written + (run.has_other && written == run.frames ? 1 : 0);
    is_blocked_ = written < run.frames;
    if (done == 0) return made_progress;
    bytes_left -= finish(host, {out.data(), written}, done, now);
    made_progress = true;
  }
  return made_progress;
}

// While the LAN port is blocked, frames for other hosts pass, up to the first one for the LAN.
bool LanTx::deliver_past_lan(base::Time now) {
  bool made_progress = false;
  std::array<base::Bytes, kBatch> out;
  for (const auto& host : hosts_) {
    while (host->rx().is_heard() && host->rx().refill()) {
      const HostRxBatch& batch = host->rx().batch();
      if (batch.is_checked(0) && batch.verdict(0).is_for_lan) break;
      const Run run = gather(*host, out, DeficitRoundRobin::kUnlimited, now);
      if (run.frames > 0 || !run.has_other) break;
      finish(*host, {}, 1, now);
      made_progress = true;
    }
  }
  return made_progress;
}

// Frames that are new are checked and delivered to other hosts here, once: settings may change
// while a frame waits, and the peer cannot write to it any more [S001-14]. All frames of the run
// together take at most `bytes_max` bytes of the wire.
LanTx::Run LanTx::gather(AttachedHost& host, std::span<base::Bytes> out, std::size_t bytes_max,
                         base::Time now) {
  Run run;
  HostRxBatch& batch = host.rx().batch();
  const VlanRules& vlans = host.nic().vlans;
  base::MutableBytes room(tagged_.get(), kTaggedBytes);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const base::MutableBytes frame = batch.frame(i);
    const bool is_new = !batch.is_checked(i);
    const lan::WireCost cost = is_new ? lan::wire_cost(frame) : batch.verdict(i).cost;
    if (cost.bytes > bytes_max) break;
    bytes_max -= cost.bytes;
    const bool may_be_tagged = is_new ? vlans.pvid() != 0 : batch.verdict(i).vlan_tag != 0;
    const std::size_t copy_bytes = frame.size() + lan::kVlanTagBytes;
    if (may_be_tagged && run.frames > 0 && room.size() < copy_bytes) break;
    HostRxBatch::Verdict verdict;
    if (is_new) {
      verdict.cost = cost;
      verdict.is_for_lan = check_frame(host, frame, cost, now);
      verdict.vlan_tag = verdict.is_for_lan && vlans.tags(frame) ? vlans.pvid() : 0;
    } else {
      verdict = batch.verdict(i);
    }
    base::Bytes leaves = frame;
    if (verdict.is_for_lan && verdict.vlan_tag != 0) {
      leaves = copy_with_tag(frame, verdict.vlan_tag, room);
      room = room.subspan(copy_bytes);
    }
    if (is_new) {
      verdict.is_for_lan = verdict.is_for_lan && deliver_to_hosts(host, leaves);
      batch.set_next_verdict(verdict);
    }
    if (!verdict.is_for_lan) {
      run.has_other = true;
      break;
    }
    out[run.frames++] = leaves;
  }
  return run;
}

// The first `count` frames of a host are done, of which `written` went to the LAN. Returns what
// they are charged.
std::size_t LanTx::finish(AttachedHost& host, std::span<const base::Bytes> written,
                          std::size_t count, base::Time now) {
  for (const base::Bytes frame : written) {
    counters_.add(LanCounter::kTxFrames);
    counters_.add(LanCounter::kTxBytes, frame.size());
  }
  HostRx& rx = host.rx();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += rx.batch().verdict(0).cost.bytes;
    rx.finish(now);
  }
  return bytes;
}

// Delivers a frame to the other hosts that it is for. Returns true if it is for the LAN too. What
// is for a machine on the LAN goes there, also if a host has claimed its address [H-1].
bool LanTx::deliver_to_hosts(AttachedHost& from, base::Bytes frame) {
  const lan::MacAddress destination = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  if (lan::is_multicast(destination)) hosts_.note_group(from, frame);
  if (hosts_.is_alone()) return true;
  const bool is_of_host = !lan::is_multicast(destination) && hosts_.is_taken(destination, from);
  if (is_of_host && hosts_.is_of_lan(destination)) {
    hosts_.distribute_to_sniffers(frame, from);
    return true;
  }
  const bool is_wanted = hosts_.distribute(frame, &from);
  if (!is_of_host) return true;
  if (is_wanted)
    counters_.add(LanCounter::kHostToHost);
  else
    from.stats().count(AttachedHostCounter::kDropAway);
  return false;
}

}  // namespace splitnic::iou
