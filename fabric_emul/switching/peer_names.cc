#include "fabric_emul/switching/peer_names.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/endian.h"

namespace splitnic::fabric {
namespace {

// The first byte of an address; the two behind it are a LID, or the number of a name.
constexpr std::byte kIsLid{1};
constexpr std::byte kIsName{2};

PeerAddress address_with(std::byte kind, std::size_t number) {
  PeerAddress address;
  address.bytes[0] = kind;
  base::store_be(&address.bytes[1], static_cast<std::uint16_t>(number));
  return address;
}

std::uint16_t number_in(const PeerAddress& address) {
  return base::load_be<std::uint16_t>(&address.bytes[1]);
}

}  // namespace

PeerAddress PeerNames::add(const std::string& name, bool uses_all_paths) {
  auto found = std::ranges::find(named_, name, &Named::name);
  if (found == named_.end()) found = named_.insert(found, Named{.name = name});
  found->uses_all_paths = uses_all_paths;
  return address_with(kIsName, static_cast<std::size_t>(found - named_.begin()));
}

Lid PeerNames::lid_of(const PeerAddress& peer) const {
  if (peer.bytes[0] == kIsLid) return Lid(number_in(peer));
  const Named* named = at(peer);
  return named == nullptr ? Lid() : named->lid;
}

PeerAddress PeerNames::address_of(Lid peer) const {
  const Named* named = at(peer);
  if (named == nullptr) return address_with(kIsLid, peer.value);
  return address_with(kIsName, static_cast<std::size_t>(named - named_.data()));
}

const PeerNames::Named* PeerNames::at(const PeerAddress& peer) const {
  const std::uint16_t number = number_in(peer);
  return peer.bytes[0] == kIsName && number < named_.size() ? &named_[number] : nullptr;
}

const PeerNames::Named* PeerNames::at(Lid peer) const {
  const auto found = std::ranges::find(named_, peer, &Named::lid);
  return found == named_.end() ? nullptr : &*found;
}

}  // namespace splitnic::fabric
