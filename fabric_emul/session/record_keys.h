// The keys that one handshake gave, for the records of both directions: counters, replay window,
// age and limits. A counter is used once, whatever becomes of the record. Thread: the data thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/clock.h"
#include "fabric_emul/session/index_table.h"
#include "fabric_emul/session/messages.h"
#include "fabric_emul/session/noise.h"
#include "fabric_emul/session/replay_window.h"
#include "fabric_emul/session/session_config.h"

namespace splitnic::fabric::session {

class RecordKeys {
 public:
  struct Origin {
    IndexTable::Index local;   // in records of the peer
    std::uint32_t remote = 0;  // in ours
    base::Time made{};
    std::uint64_t peer_instance = 0;
  };
  // `config` outlives this.
  RecordKeys(const SessionConfig& config, const TransportKeys& keys, Origin origin);

  std::uint32_t local() const { return origin_.local.value(); }
  std::uint64_t peer_instance() const { return origin_.peer_instance; }

  // The sender must get new keys soon.
  bool wants_rekey(base::Time now) const;
  base::Time rekey_at() const { return origin_.made + to_time(limits_.rekey_after); }
  // Beyond this time, or number of records, the keys do nothing more.
  base::Time reject_at() const { return origin_.made + to_time(limits_.reject_after); }
  bool may_seal(base::Time now, std::size_t records) const;

  // Writes one record. REQUIRES may_seal(), and out.size() == plain.size() + kDataOverheadBytes.
  void seal(base::MutableBytes out, base::Bytes plain, std::uint8_t flags);

  enum class Opened : std::uint8_t {
    kTag,
    kReplay,
    kExpired,
    kGood,
    kGoodHighest,  // no counter was higher before
  };
  // Opens a record of type DATA. Unless it is good, the content of `out` means nothing. REQUIRES
  // out.size() == record.size() - kDataOverheadBytes.
  Opened open(base::Time now, base::MutableBytes out, base::Bytes record);

 private:
  static base::Time::duration to_time(base::Duration duration) {
    return std::chrono::duration_cast<base::Time::duration>(duration);
  }

  const RecordLimits& limits_;
  Origin origin_;
  std::unique_ptr<Aead> sealing_, opening_;
  std::uint64_t next_counter_ = 0;
  std::uint64_t sealed_ = 0, opened_ = 0;  // records, in units of short ones
  std::uint64_t failed_ = 0;
  ReplayWindow window_;
};

}  // namespace splitnic::fabric::session
