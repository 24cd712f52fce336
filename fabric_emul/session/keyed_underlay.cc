#include "fabric_emul/session/keyed_underlay.h"

#include <algorithm>

#include "base/check.h"
#include "base/ip6.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::size_t kDatagramsMax = 64;  // of one batch of a link

// Writes a record of each datagram of the batch, one behind the other.
void seal_batch(RecordKeys& keys, std::uint8_t flags, base::Bytes plain, std::size_t stride,
                base::MutableBytes out) {
  while (!plain.empty()) {
    const base::Bytes datagram = plain.first(std::min(stride, plain.size()));
    const std::size_t record_bytes = datagram.size() + kDataOverheadBytes;
    keys.seal(out.first(record_bytes), datagram, flags);
    out = out.subspan(record_bytes);
    plain = plain.subspan(datagram.size());
  }
}

}  // namespace

KeyedUnderlay::KeyedUnderlay(Underlay& below, const SessionConfig& config, base::Clock& clock,
                             base::Random& random)
    : UnderlayDecorator(below),
      clock_(clock),
      table_(config, random, [&below](const PeerAddress& to, base::Bytes datagram) {
        // Perhaps nothing was heard because our own address is gone.
        if (type_of(datagram) == MessageType::kInitiation) below.check_own_address();
        below.send(to, datagram, datagram.size());
      }) {}

base::Result<PeerAddress> KeyedUnderlay::allow(const PeerConfig& peer) {
  if (auto allowed = table_.allow(peer); !allowed) return allowed.error();
  return address_of(peer.key);
}

void KeyedUnderlay::end_session(const PublicKey& key) {
  if (Peer* const peer = table_.by_key(key); peer != nullptr) peer->end_session();
}

std::optional<KeyedUnderlay::PeerView> KeyedUnderlay::view_of(const PublicKey& key) const {
  const Peer* const peer = table_.by_key(key);
  if (peer == nullptr) return std::nullopt;
  return PeerView{peer->endpoint(), peer->agreed_at()};
}

bool KeyedUnderlay::has_session(const PeerAddress& peer) {
  const Peer* const known = table_.by_address(peer);
  return known != nullptr && known->has_session(clock_.now());
}

// Below it is that of control but while a batch is sent.
void KeyedUnderlay::set_dscp(std::uint8_t of_batches, std::uint8_t of_control) {
  batch_dscp_ = of_batches;
  control_dscp_ = of_control;
  below_.set_dscp(control_dscp_, control_dscp_);
}

Underlay::SendStatus KeyedUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                         std::size_t stride) {
  CHECK(stride > 0);
  const base::Time now = clock_.now();
  Peer* const peer = table_.by_address(to);
  if (peer == nullptr) return SendStatus::kRefused;
  table_.on_sending(now, *peer);
  const std::size_t count = (bytes.size() + stride - 1) / stride;
  RecordKeys* const keys = peer->sealing(now, count);
  if (keys == nullptr || !peer->endpoint()) {
    forget(bytes);
    table_.counters().add(SessionCounter::kTxDropNoKeys, count);
    if (count == 1 && peer->is_initiator()) peer->keep(bytes);
    return SendStatus::kRefused;
  }
  const std::size_t sealed_bytes = bytes.size() + count * kDataOverheadBytes;
  CHECK(sealed_bytes <= below_.batch_bytes_max());
  if (!take_blocked(*peer, bytes)) {
    if (sealed_.size() < sealed_bytes) sealed_.resize(sealed_bytes);
    seal_batch(*keys, peer->flags(now), bytes, stride, sealed_);
  }
  const bool is_marked = batch_dscp_ != control_dscp_;
  if (is_marked) below_.set_dscp(batch_dscp_, control_dscp_);
  const SendStatus status = below_.send(*peer->endpoint(), base::Bytes(sealed_).first(sealed_bytes),
                                        stride + kDataOverheadBytes);
  if (is_marked) set_dscp(batch_dscp_, control_dscp_);
  if (status == SendStatus::kSent) table_.counters().add(SessionCounter::kTxRecord, count);
  if (status == SendStatus::kBlocked && count > 1) {
    blocked_.push_back({bytes, to, std::move(sealed_)});
    sealed_ = {};
  }
  return status;
}

// The link repeats the same batch. A single datagram is sealed again: nothing of it was sent.
bool KeyedUnderlay::take_blocked(const Peer& peer, base::Bytes bytes) {
  const auto found = find_blocked(bytes);
  if (found == blocked_.end()) return false;
  if (found->plain.size() != bytes.size() || found->to != peer.address()) {
    forget(bytes);
    return false;
  }
  sealed_ = std::move(found->sealed);
  blocked_.erase(found);
  return true;
}

std::vector<KeyedUnderlay::Blocked>::iterator KeyedUnderlay::find_blocked(base::Bytes bytes) {
  return std::ranges::find(blocked_, bytes.data(),
                           [](const Blocked& batch) { return batch.plain.data(); });
}

void KeyedUnderlay::forget(base::Bytes batch) {
  const auto found = find_blocked(batch);
  if (found == blocked_.end()) return;
  below_.forget(found->sealed);
  blocked_.erase(found);
}

void KeyedUnderlay::on_peer_stopped(const PeerAddress& peer) {
  Peer* const known = table_.by_address(peer);
  if (known != nullptr && known->is_initiator()) known->on_stopped(clock_.now());
}

std::optional<Underlay::Received> KeyedUnderlay::receive() {
  const base::Time now = clock_.now();
  table_.on_time(now);
  if (rest_.bytes.empty()) {
    const auto batch = below_.receive();
    if (!batch) return std::nullopt;
    rest_ = *batch;
    rest_.stride = std::max<std::size_t>(rest_.stride, 1);
  }
  return open_batch(now);
}

Underlay::Received KeyedUnderlay::open_batch(base::Time now) {
  Received opened;
  opened_bytes_ = 0;
  if (opened_.size() < rest_.bytes.size()) opened_.resize(rest_.bytes.size());
  RecordRun run;
  while (!rest_.bytes.empty()) {
    const base::Bytes datagram = rest_.bytes.first(std::min(rest_.stride, rest_.bytes.size()));
    const auto type = type_of(datagram);
    if (!type) {
      table_.counters().add(SessionCounter::kRxDropFormat);
    } else if (*type != MessageType::kData) {
      run = {};
      table_.on_message(now, *type, datagram, rest_.from);
    } else if (!open_record(now, datagram, run, opened)) {
      break;
    }
    rest_.bytes = rest_.bytes.subspan(datagram.size());
  }
  opened.bytes = base::Bytes(opened_).first(opened_bytes_);
  return opened;
}

RecordRun KeyedUnderlay::begin_run(std::uint32_t index) {
  Peer* const peer = table_.by_index(index);
  RecordKeys* const keys = peer == nullptr ? nullptr : peer->opening(index);
  const bool may_be_here =
      keys != nullptr && (peer->endpoint() == rest_.from || table_.may_be_at(*peer, rest_.from));
  return {index, peer, keys, may_be_here};
}

bool KeyedUnderlay::open_record(base::Time now, base::Bytes record, RecordRun& run,
                                Received& opened) {
  const std::uint32_t index = Data::receiver(record);
  if (!run.continues(index)) {
    run = begin_run(index);
    const bool is_behind_others = opened_bytes_ > 0 && run.may_be_here();
    if (is_behind_others && run.peer()->address() != opened.from) return false;
  }
  if (run.keys() == nullptr) {
    table_.counters().add(SessionCounter::kRxDropIndex);
    return true;
  }
  if (!run.may_be_here()) {
    table_.counters().add(SessionCounter::kRxDropAddress);
    return true;
  }
  const std::size_t bytes = record.size() - kDataOverheadBytes;
  const base::MutableBytes room = base::MutableBytes(opened_).subspan(opened_bytes_, bytes);
  const auto outcome = run.keys()->open(now, room, record);
  switch (outcome) {
    case RecordKeys::Opened::kTag:
      table_.counters().add(SessionCounter::kRxDropTag);
      return true;
    case RecordKeys::Opened::kReplay:
      table_.counters().add(SessionCounter::kRxDropReplay);
      return true;
    case RecordKeys::Opened::kExpired:
      table_.counters().add(SessionCounter::kRxDropExpired);
      return true;
    case RecordKeys::Opened::kGood:
    case RecordKeys::Opened::kGoodHighest:
      break;
  }
  table_.counters().add(SessionCounter::kRxRecord);
  const bool is_highest = outcome == RecordKeys::Opened::kGoodHighest;
  const std::uint8_t flags = Data::flags(record);
  if (run.take(is_highest, flags)) {
    table_.on_record(now, *run.peer(), *run.keys(), is_highest, flags, rest_.from);
  }
  if (opened_bytes_ == 0) {
    opened.from = run.peer()->address();
    opened.stride = bytes;
  }
  opened_bytes_ += bytes;
  return true;
}

base::Time KeyedUnderlay::deadline() const {
  if (!rest_.bytes.empty()) return {};  // the descriptor does not show what was read
  return std::min(table_.deadline(), below_.deadline());
}

PathKind KeyedUnderlay::path_kind(const PeerAddress& to) const {
  return table_.by_address(to) != nullptr ? PathKind::kSealed : PathKind::kNetwork;
}

std::size_t KeyedUnderlay::datagram_bytes_max(const PeerAddress& to) const {
  const Peer* const peer = table_.by_address(to);
  // The path of a peer that is not known yet carries at least that.
  if (peer == nullptr || !peer->endpoint()) return base::kIp6DatagramBytesMin;
  return below_.datagram_bytes_max(*peer->endpoint());
}

std::size_t KeyedUnderlay::batch_bytes_max() const {
  return below_.batch_bytes_max() - kDatagramsMax * kDataOverheadBytes;
}

std::string KeyedUnderlay::name_of(const PeerAddress& peer) const {
  const Peer* const known = table_.by_address(peer);
  if (known == nullptr || !known->endpoint()) return "an unknown address";
  return below_.name_of(*known->endpoint());
}

std::optional<std::uint64_t> KeyedUnderlay::eui64_of(const PeerAddress& peer) const {
  const Peer* const known = table_.by_address(peer);
  if (known == nullptr) return std::nullopt;
  return session::eui64_of(known->keys().peer);
}

std::string KeyedUnderlay::key_of(const PeerAddress& peer) const {
  const Peer* const known = table_.by_address(peer);
  return known == nullptr ? "" : base64_of(known->keys().peer.bytes);
}

}  // namespace splitnic::fabric::session
