#include "tests/sim/sim_carrier.h"

#include <utility>

#include "fabric_emul/session/peer.h"

namespace splitnic::sim {
namespace {

namespace session = fabric::session;

session::Secret key_of(Node node) {
  base::SeededRandom random(1 + static_cast<std::uint64_t>(node));
  return session::random_private_key(random);
}

}  // namespace

fabric::Eui64 eui64_of(const WorldConfig& config, Node node) {
  if (!is_keyed(config)) return fabric::Eui64(0x10 * (1 + static_cast<std::uint64_t>(node)));
  return fabric::Eui64(session::eui64_of(public_key_of(node)));
}

session::PublicKey public_key_of(Node node) { return session::public_key_of(key_of(node)); }

session::SessionConfig session_of(Node node, base::Random& random,
                                  std::function<std::uint64_t()> stamp) {
  session::SessionConfig settings;
  settings.private_key = key_of(node);
  settings.instance = random.next() | 1;
  settings.stamp = std::move(stamp);
  return settings;
}

fabric::Underlay& World::carrier_of_unit() {
  if (!is_keyed(config)) return *iou_path_;
  const auto settings = session_of(Node::kUnit, random, next_stamp());
  carrier_of_iou_ = std::make_unique<session::KeyedUnderlay>(*iou_path_, settings, clock, random);
  for (const Node node : {Node::kHost, Node::kHostile}) {
    if (node == Node::kHostile && config.hostility == Hostility::kNone) continue;
    CHECK(carrier_of_iou_->allow({public_key_of(node), {}, {}}).has_value());
  }
  return *carrier_of_iou_;
}

std::pair<fabric::Underlay*, fabric::PeerAddress> World::carrier_of_host() {
  const fabric::PeerAddress unit_at = iou_end_->address();
  if (!is_keyed(config)) return {host_path_.get(), unit_at};
  const auto settings = session_of(Node::kHost, random, next_stamp());
  carrier_of_host_ = std::make_unique<session::KeyedUnderlay>(*host_path_, settings, clock, random);
  return {carrier_of_host_.get(),
          carrier_of_host_->allow({public_key_of(Node::kUnit), {}, unit_at}).value()};
}

}  // namespace splitnic::sim
