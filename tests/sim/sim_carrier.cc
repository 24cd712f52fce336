#include "tests/sim/sim_carrier.h"

#include "fabric_emul/session/peer.h"

namespace splitnic::sim {
namespace {

namespace session = fabric::session;

session::Secret key_of(bool is_of_host) {
  base::SeededRandom random(is_of_host ? 2 : 1);
  return session::random_private_key(random);
}

}  // namespace

fabric::Eui64 eui64_of(const WorldConfig& config, bool is_of_host) {
  if (!config.is_keyed) return is_of_host ? kHostEui64 : kIouEui64;
  return fabric::Eui64(session::eui64_of(session::public_key_of(key_of(is_of_host))));
}

std::pair<fabric::Underlay*, fabric::PeerAddress> World::carrier(bool is_of_host) {
  const fabric::PeerAddress unit_at = iou_end_->address();
  fabric::FaultUnderlay& path = is_of_host ? *host_path_ : *iou_path_;
  if (!config.is_keyed) return {&path, unit_at};
  session::SessionConfig settings;
  settings.private_key = key_of(is_of_host);
  settings.instance = random.next() | 1;
  settings.stamp = [this] { return ++stamp_; };
  auto& sessions = is_of_host ? carrier_of_host_ : carrier_of_iou_;
  sessions = std::make_unique<session::KeyedUnderlay>(path, settings, clock, random);
  session::PeerConfig peer{session::public_key_of(key_of(!is_of_host)), {}, {}};
  if (is_of_host) peer.endpoint = unit_at;
  return {sessions.get(), sessions->allow(peer).value()};
}

}  // namespace splitnic::sim
