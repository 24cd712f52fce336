// The records of one batch that follow each other with the same index: a run. The batch is from one
// address, so what is looked up and checked for the first record holds for the others: the peer,
// its keys, and that it may be there. A good record is news to the peer if it is the first of the
// run, the first with the highest counter, or if its flags differ from those before it; any other
// one would change nothing. Each record is opened, and its counter checked, one by one.
//
// Invariant: handshake messages and new lookups end a run, and its first good record may only make
// its own keys current, so the keys outlive it. Pure.
#pragma once

#include <cstdint>

namespace splitnic::fabric::session {

class Peer;
class RecordKeys;

class RecordRun {
 public:
  RecordRun() = default;
  // peer, keys: nullptr if the index has none. may_be_here: the address is one of the peer.
  RecordRun(std::uint32_t index, Peer* peer, RecordKeys* keys, bool may_be_here)
      : index_(index), peer_(peer), keys_(keys), may_be_here_(may_be_here) {}

  bool continues(std::uint32_t index) const { return keys_ != nullptr && index_ == index; }
  Peer* peer() const { return peer_; }
  RecordKeys* keys() const { return keys_; }
  bool may_be_here() const { return may_be_here_; }

  // Takes the next good record. Returns whether it is news to the peer.
  bool take(bool is_highest, std::uint8_t flags) {
    const bool is_news = !has_good_ || flags != flags_ || (is_highest && !has_highest_);
    has_good_ = true;
    has_highest_ = has_highest_ || is_highest;
    flags_ = flags;
    return is_news;
  }

 private:
  std::uint32_t index_ = 0;
  Peer* peer_ = nullptr;
  RecordKeys* keys_ = nullptr;
  bool may_be_here_ = false;
  bool has_good_ = false;
  bool has_highest_ = false;
  std::uint8_t flags_ = 0;
};

}  // namespace splitnic::fabric::session
