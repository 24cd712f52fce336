#include "fabric_emul/link/port_context.h"

#include <array>

#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {
namespace {

// Over shm a mark would only end batches early.
PortConfig without_marks_in_memory(PortConfig config) {
  if (profile_of(config) == LinkProfile::kShm) config.dscp_of_lane = {};
  return config;
}

}  // namespace

PortContext::PortContext(Underlay& underlay_, const PortConfig& config_, base::Random& random_,
                         LinkObserver& observer_)
    : underlay(underlay_),
      blocked_lanes(underlay.blocked_lanes()),
      config(without_marks_in_memory(config_)),
      random(random_),
      observer(observer_),
      terms(config, underlay.receive_buffer_bytes(), uses_fragments()),
      crc_terms(config),
      lid_terms(config),
      received(carried_bytes_max(config)) {
  to_flush.reserve(config.links_max);
  const std::uint8_t of_control = config.dscp_of_lane[kMgmtLane];
  underlay.set_dscp(of_control, of_control);  // INIT is no batch of a lane
}

void PortContext::queue(std::size_t slot) { to_flush.push_back(slot); }

void PortContext::send_init(const PeerAddress& to, const Init& init, std::size_t datagram_bytes) {
  std::array<std::byte, kInitBytes> payload;
  emit_init(payload.data(), init);
  FlitHeader header;
  header.type = FlitType::kInit;
  header.vl = kMgmtLane;
  const std::size_t bytes = std::max(datagram_bytes, kFlitHeaderBytes + kInitBytes);
  if (init_datagram.size() < bytes) init_datagram.resize(bytes);
  emit_flit(init_datagram, header, payload);
  const bool is_sent = send_control(to, base::Bytes(init_datagram).first(bytes));
  counters.add(is_sent ? LinkCounter::kTxInit : LinkCounter::kTxDropControl);
}

bool PortContext::send_control(const PeerAddress& to, base::Bytes datagram) {
  return underlay.send(to, datagram, datagram.size()) == Underlay::SendStatus::kSent;
}

}  // namespace splitnic::fabric
