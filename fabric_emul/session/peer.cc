#include "fabric_emul/session/peer.h"

#include <algorithm>
#include <span>

#include "base/endian.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::size_t kKeptBytesMax = 2048;

}  // namespace

PeerAddress address_of(const PublicKey& key) {
  const Bytes32 hash = sha256({base::as_bytes("splitnic address"), key.bytes});
  PeerAddress address;
  const auto rest = std::ranges::copy(base::as_bytes("key:"), address.bytes.begin()).out;
  std::copy_n(hash.begin(), address.bytes.end() - rest, rest);
  return address;
}

std::uint64_t eui64_of(const PublicKey& key) {
  const Bytes32 hash = sha256({base::as_bytes("splitnic eui64"), key.bytes});
  return base::load_be<std::uint64_t>(hash.data()) | 1;
}

Peer::Peer(const StaticKey& own, const PeerConfig& peer, const Secret& shared,
           const SessionConfig& config, base::Counters<SessionCounter>& counters)
    : config_(config),
      counters_(counters),
      keys_{own, peer.key, peer.psk, shared, MacKeys(peer.key)},
      address_(address_of(peer.key)),
      endpoint_(peer.endpoint),
      is_initiator_(peer.endpoint.has_value()) {}

RecordKeys* Peer::sealing(base::Time now, std::size_t records) {
  return current_ && current_->may_seal(now, records) ? current_.get() : nullptr;
}

std::uint8_t Peer::flags(base::Time now) const {
  return !is_initiator_ && current_ && current_->wants_rekey(now) ? kDataRekeyPlease
                                                                  : std::uint8_t{0};
}

RecordKeys* Peer::opening(std::uint32_t index) {
  for (const auto* keys : {&current_, &next_, &previous_}) {
    if (*keys && (*keys)->local() == index) return keys->get();
  }
  return nullptr;
}

bool Peer::on_record(base::Time now, const RecordKeys& keys, bool is_highest, std::uint8_t flags,
                     const PeerAddress& from) {
  heard_ = now;
  if (&keys == next_.get()) {
    if (is_back(keys.peer_instance())) {
      counters_.add(SessionCounter::kReclaimed);
      report_second_process(from);
    }
    change_to(now, std::move(next_));
  }
  if (&keys != current_.get()) return false;
  if (is_initiator_) {
    is_rekey_requested_ |= (flags & kDataRekeyPlease) != 0;
    return false;
  }
  if (!is_highest || endpoint_ == from) return false;
  if (endpoint_) counters_.add(SessionCounter::kRoamed);
  endpoint_ = from;
  return true;
}

bool Peer::wants_attempt(base::Time now) const {
  if (!is_initiator_ || attempt_) return false;
  return !has_session(now) || is_rekey_due(now) || now - heard_ >= config_.silence;
}

bool Peer::is_rekey_due(base::Time now) const {
  return is_initiator_ && !attempt_ && has_session(now) &&
         (current_->wants_rekey(now) || is_rekey_requested_);
}

void Peer::install(base::Time now, std::unique_ptr<RecordKeys> keys) {
  const base::Duration took = now - attempt_->sent_at();
  responds_in_ = agreed_at_ ? std::min(took, last_response_in_) : took;
  last_response_in_ = took;
  attempt_.reset();
  is_rekey_requested_ = false;
  expected_until_ = {};
  heard_ = now;
  change_to(now, std::move(keys));
}

void Peer::keep(base::Bytes bytes) {
  if (bytes.size() <= kKeptBytesMax) kept_.assign(bytes.begin(), bytes.end());
}

void Peer::offer(std::uint64_t stamp, std::unique_ptr<RecordKeys> keys) {
  stamp_ = stamp;
  next_ = std::move(keys);
}

bool Peer::is_back(std::uint64_t instance) {
  if (instances_.front() == instance) return false;
  const bool was_here = std::ranges::find(instances_, instance) != instances_.end();
  std::ranges::copy_backward(std::span(instances_).first(instances_.size() - 1), instances_.end());
  instances_.front() = instance;
  return was_here;
}

// Records of another instance must not arrive after the peer restarted.
void Peer::change_to(base::Time now, std::unique_ptr<RecordKeys> keys) {
  const bool is_same_peer = current_ && current_->peer_instance() == keys->peer_instance();
  counters_.add(current_ ? SessionCounter::kRekeyed : SessionCounter::kEstablished);
  previous_ = is_same_peer ? std::move(current_) : nullptr;
  previous_until_ = now + std::chrono::duration_cast<base::Time::duration>(config_.previous_kept);
  current_ = std::move(keys);
  agreed_at_ = now;
}

void Peer::end_session() {
  current_.reset();
  previous_.reset();
  next_.reset();
  attempt_.reset();
}

void Peer::on_stopped(base::Time now) {
  end_session();
  expected_until_ = now + std::chrono::duration_cast<base::Time::duration>(config_.return_expected);
}

Attempt::Return Peer::may_return() const {
  const bool has_stopped = expected_until_ != base::Time();
  if (has_stopped || !agreed_at_) return {.expected_until = expected_until_, .possible_until = {}};
  const auto possible = std::chrono::duration_cast<base::Time::duration>(config_.return_possible);
  return {.expected_until = {}, .possible_until = heard_ + possible};
}

void Peer::on_time(base::Time now) {
  if (previous_ && (now >= previous_until_ || now >= previous_->reject_at())) previous_.reset();
  if (next_ && now >= next_->reject_at()) next_.reset();
  if (current_ && now >= current_->reject_at()) {
    current_.reset();
    counters_.add(SessionCounter::kExpired);
  }
}

base::Time Peer::deadline() const {
  base::Time at = base::kNever;
  if (previous_) at = std::min(previous_until_, previous_->reject_at());
  if (next_) at = std::min(at, next_->reject_at());
  if (current_) at = std::min(at, current_->reject_at());
  if (attempt_) return std::min(at, attempt_->deadline());
  if (is_initiator_ && current_) at = std::min(at, current_->rekey_at());
  return at;
}

}  // namespace splitnic::fabric::session
