#include "fabric_emul/switching/network_layer.h"

#include <algorithm>

#include "base/check.h"
#include "base/endian.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {

bool NetworkLayer::learn(base::Bytes reply, Lid own) {
  if (reply.empty()) {
    own_.reset();
    return true;
  }
  if (reply.size() < kNetworkPlaceBytes || reply.size() % 2 != 0 ||
      reply.size() > kNetworkPlaceBytes + kRoutersMax * sizeof(std::uint16_t)) {
    return false;
  }
  const NetworkAddress address = load_network_address(reply.subspan(sizeof(std::uint16_t)));
  if (Lid(base::load_be<std::uint16_t>(reply.data())) != own || lid_in(address) != own)
    return false;
  own_ = address;
  routers_.clear();
  for (std::size_t at = kNetworkPlaceBytes; at < reply.size(); at += sizeof(std::uint16_t)) {
    routers_.emplace_back(base::load_be<std::uint16_t>(reply.data() + at));
  }
  return true;
}

Lid NetworkLayer::resolved(base::Bytes reply) {
  if (reply.size() != kNetworkPlaceBytes || !own_) return Lid();
  const Lid router(base::load_be<std::uint16_t>(reply.data()));
  const NetworkAddress address = load_network_address(reply.subspan(sizeof(std::uint16_t)));
  if (is_same_subnet(address, *own_) || std::ranges::find(routers_, router) == routers_.end()) {
    return Lid();
  }
  return peer_at(address, router);
}

// Replies go by the router that led here last.
Lid NetworkLayer::peer_at(const NetworkAddress& address, Lid router) {
  const auto known = lids_.find(address);
  if (known != lids_.end()) {
    peers_[index_of(known->second)].router = router;
    return known->second;
  }
  if (peers_.size() == kPeersMax) return Lid();
  const Lid lid(static_cast<std::uint16_t>(kPortLidMax + 1U + peers_.size()));
  peers_.push_back({address, router});
  lids_.emplace(address, lid);
  return lid;
}

std::string NetworkLayer::name_of(Lid lid) const {
  if (!is_peer(lid) || index_of(lid) >= peers_.size()) return {};
  return text_of(peers_[index_of(lid)].address);
}

Gnh NetworkLayer::gnh_to(Lid peer, std::uint8_t sl, std::uint16_t payload_bytes) const {
  CHECK(own_);
  return gnh_between(*own_, peers_.at(index_of(peer)).address, sl, payload_bytes);
}

Lid NetworkLayer::lid_at(const NetworkAddress& address) const {
  if (own_ && is_same_subnet(address, *own_)) return lid_in(address).value_or(Lid());
  const auto peer = lids_.find(address);
  return peer == lids_.end() ? Lid() : peer->second;
}

// The address of a host on a LAN may have the form of a network address: peers in the fabric are
// known by other cells, with which their links begin. LID 0: no leg is known that it may be behind.
Lid NetworkLayer::sender_of(const NetworkAddress& source, const MacHeader& header) {
  if (is_datagram(header) && !lids_.contains(source)) return leg_;
  return peer_at(source, header.slid);
}

NetworkLayer::Taken NetworkLayer::take(const ReceivedCell& cell, const MacHeader& header) {
  const auto gnh = own_ ? gnh_of(cell.bytes) : std::nullopt;
  if (!gnh || gnh->hop_limit == 0) return {.fault = Fault::kGlobal};
  const bool is_for_lan = is_leg_ && is_datagram(header);
  if (gnh->destination != own_->bytes && !is_for_lan) return {.fault = Fault::kDestination};
  const NetworkAddress source{gnh->source};
  const bool is_by_leg = is_datagram(header) && leg_ != Lid();
  if (!is_by_router(header) || is_same_subnet(source, *own_) ||
      !(is_by_leg ? is_routable(source) : lid_in(source).has_value())) {
    return {.fault = Fault::kOrigin};
  }
  const Lid from = sender_of(source, header);
  if (from == Lid()) return {.fault = is_datagram(header) ? Fault::kOrigin : Fault::kGlobal};
  const auto change = is_datagram(header) ? change_lids : remove_gnh;
  return {.from = from, .cell = copy_of(cell, {header.dlid, from}, change)};
}

// Each is as long as it came, or shorter, so a batch has room.
ReceivedCell NetworkLayer::copy_of(const ReceivedCell& cell, CellLids lids,
                                   decltype(&remove_gnh) change) {
  if (store_.empty()) store_.resize(store_bytes_);
  const base::MutableBytes room = base::MutableBytes(store_).subspan(used_);
  FlitHeader flit;
  flit.vl = cell.vl;
  flit.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
  if (cell.crc_head_only) flit.ctl |= kFlitCellCrcHeadOnly;
  flit.size = static_cast<std::uint16_t>(
      change(room.subspan(kFlitHeaderBytes), cell.bytes, lids, cell.crc_head_only));
  used_ += seal_flit(room, flit);
  return {room.subspan(kFlitHeaderBytes, flit.size), cell.vl, cell.crc_head_only};
}

}  // namespace splitnic::fabric
