// Base class of underlays that wrap another one and pass on whatever they do not change. The one
// below outlives the decorator. A decorator implements send(), receive() and deadline() itself. Its
// claim() returns no room: a decorator reads or changes what it sends, which must not be done in
// memory that the peer can write.
// Thread: one owner, the data thread.
#pragma once

#include <cstddef>
#include <string>

#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

class UnderlayDecorator : public Underlay {
 public:
  explicit UnderlayDecorator(Underlay& below) : below_(below) {}

  void forget(base::Bytes batch) override { below_.forget(batch); }
  void set_dscp(std::uint8_t of_batches, std::uint8_t of_control) override {
    below_.set_dscp(of_batches, of_control);
  }
  unsigned lanes() const override { return below_.lanes(); }
  const std::uint16_t& blocked_lanes() const override { return below_.blocked_lanes(); }
  bool take_room() override { return below_.take_room(); }
  bool is_blocked_by_lane() const override { return below_.is_blocked_by_lane(); }
  bool may_sleep() override { return below_.may_sleep(); }
  bool came_in_on_this_cpu() const override { return below_.came_in_on_this_cpu(); }
  void check_own_address() override { below_.check_own_address(); }
  void on_peer_stopped(const PeerAddress& peer) override { below_.on_peer_stopped(peer); }
  unsigned paths_to(const PeerAddress& to) const override { return below_.paths_to(to); }
  unsigned own_paths() const override { return below_.own_paths(); }
  bool carries_fragments() const override { return below_.carries_fragments(); }
  PathKind path_kind(const PeerAddress& to) const override { return below_.path_kind(to); }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override {
    return below_.datagram_bytes_max(to);
  }
  bool take_too_long_report() override { return below_.take_too_long_report(); }
  std::size_t batch_bytes_max() const override { return below_.batch_bytes_max(); }
  std::size_t receive_buffer_bytes() const override { return below_.receive_buffer_bytes(); }
  int fd() const override { return below_.fd(); }
  std::string name_of(const PeerAddress& peer) const override { return below_.name_of(peer); }
  std::optional<std::uint64_t> eui64_of(const PeerAddress& peer) const override {
    return below_.eui64_of(peer);
  }
  std::string key_of(const PeerAddress& peer) const override { return below_.key_of(peer); }
  std::optional<std::uint32_t> user_of(const PeerAddress& peer) const override {
    return below_.user_of(peer);
  }
  base::Time deadline() const override = 0;

 protected:
  Underlay& below_;
};

}  // namespace splitnic::fabric
