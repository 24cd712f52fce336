// One end of a measurement: an adapter on an underlay with one session at a time, and the loop of
// the daemons. Spinning, the loop asks the underlay at once instead of sleeping. The active end
// names the measurement; the passive one serves one peer after the other (bench_handshake.h),
// validates everything that it sends and survives its failures. Without an underlay both sides of
// the session are in one adapter, connected over its loopback [S000-11]. An active end may have
// several ports, by each of which the queue pair of RC reaches the passive end [S000-46].
// Thread: its process has only one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/verbs/adapter.h"
#include "tools/bench/bench_handshake.h"
#include "tools/bench/bench_session.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

struct EndConfig {
  fabric::Eui64 eui64;  // another one for each process
  bool is_active = false;
  bool is_shm = false;
  bool spins = false;
};

class FabricEnd final : private fabric::ConnectionHandler {
 public:
  // `underlay` outlives the end. `wake_fd` ends its sleep when it is readable; -1: none.
  FabricEnd(fabric::Underlay& underlay, const EndConfig& config, int wake_fd = -1);
  // Without an underlay: for connect_loopback(). REQUIRES an active end.
  explicit FabricEnd(const EndConfig& config, int wake_fd = -1);
  ~FabricEnd() override = default;
  FabricEnd(const FabricEnd&) = delete;
  FabricEnd& operator=(const FabricEnd&) = delete;

  // Active, before connect(): one more port, which reaches the passive end at `peer`. `underlay`
  // outlives the end. REQUIRES that fewer than AdapterLimits::ports are there.
  void add_port(fabric::Underlay& underlay, const fabric::PeerAddress& peer);
  // Active: is connected on return; an error if that fails within `patience`, ETIMEDOUT if there
  // was no reply. A run that the service cannot do is refused before anything is sent, and a
  // message that is too long for the path, as EMSGSIZE, before CONNECT.
  base::Status connect(const fabric::PeerAddress& peer, const Run& run, base::Duration patience);
  // The same with a passive side in this adapter. REQUIRES that there is no underlay.
  base::Status connect_loopback(const Run& run, base::Duration patience);
  // Active: ends the measurement for both.
  void disconnect();
  // Active: posts one message of the run, in its own slot of slots_for(); with kReport an empty
  // Send, which is no message.
  void post(Word word) { session_.post(word); }
  // Active: messages in flight are given up. The reply to a later one still counts them.
  void write_off() { session_.write_off(); }
  // Sends what was posted.
  void transmit() { adapter_->transmit(clock_.now()); }
  // One iteration: sleep (not when spinning, and until `wake_at` at most), take what arrived,
  // reply, send.
  void iterate(base::Time wake_at = base::kNever);
  // The same until `is_done`, for at most `patience`. Returns whether it is; an error only if the
  // connection failed.
  template <class Done>
  base::Result<bool> iterate_for(const Done& is_done, base::Duration patience) {
    const base::Time limit = clock_.now() + patience;
    while (!is_done()) {
      iterate(limit);
      if (session_.has_failed()) return session_.why();
      if (now_ > limit) return is_done();
    }
    return true;
  }
  // The same. An error too: nothing moved for `silence`.
  template <class Done>
  base::Status iterate_until(const Done& is_done, base::Duration silence = kSilenceMax) {
    const base::Result<bool> done = iterate_for(is_done, silence);
    if (!done) return done.error();
    if (!*done) return base::Error("nothing moves");
    return {};
  }
  base::Time now() { return clock_.now(); }
  bool is_woken() const { return waiting_.poller().readable(wake_slot_); }
  bool is_connected() const { return session_.is_connected(); }
  bool has_link() const { return link_ != nullptr; }  // somebody is there

  std::size_t in_flight_max() const { return session_.queues().in_flight_max(); }
  // Active: messages of the session.
  std::size_t posted() const { return session_.posted(); }
  // Of an unacknowledged service: messages since the newest that a reply counts.
  std::size_t uncounted() const { return session_.uncounted(); }
  // In flight: not complete, or on an unacknowledged service neither replied to nor written off.
  std::size_t open() const { return session_.open(); }
  // The newest message has its reply; if it is one with a response, it is complete.
  bool is_replied() const { return session_.is_replied(); }
  // Messages that arrived at the passive end. The active one knows them by the last reply, on an
  // unacknowledged service only.
  std::size_t arrived() const { return session_.arrived(); }
  // As those of BenchQueues.
  std::uint64_t fetched() const { return session_.queues().fetched(); }
  bool are_reads_right() const { return session_.queues().are_reads_right(); }

 private:
  struct OtherPort {
    fabric::Port* port;
    fabric::PeerAddress peer;
  };

  fabric::PortConfig config_of(fabric::Eui64 eui64) const;
  base::Status open_session(const Run& run);
  base::Status await_connection(base::Duration patience);
  void end_session();
  bool take_completions();
  fabric::MgmtReject check_request(const fabric::Link& link, const fabric::MgmtPair& pair,
                                   const Handshake& theirs) const;
  fabric::MgmtReject begin_session(BenchSession& passive, fabric::Link& link,
                                   const fabric::MgmtPair& pair, const Handshake& theirs,
                                   fabric::Mgmt& reply);

  void on_link_up(fabric::Link& link) override;
  void on_link_down(fabric::Link& link, std::string_view why) override;
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override;
  bool on_connected(fabric::ConnectionId id, fabric::Link& link,
                    const fabric::Mgmt& reply) override;
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject code, base::Bytes) override;
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override;

  const EndConfig config_;
  base::SystemClock clock_;
  base::OsRandom random_;
  const std::uint64_t instance_ = random_.next() | 1;  // of all ports
  base::Time now_{};
  std::unique_ptr<fabric::Adapter> adapter_;
  BenchSession session_;
  fabric::Port* port_ = nullptr;  // null: both ends are in this adapter
  std::vector<OtherPort> other_ports_;
  fabric::IdleWait waiting_{false};
  std::size_t wake_slot_ = 0;
  bool made_progress_ = true;

  // With connect_loopback(): the passive side, this side's end of the way within the adapter, and
  // how many ends of it are up.
  std::unique_ptr<BenchSession> far_;
  fabric::Link* near_ = nullptr;
  unsigned ends_up_ = 0;

  // Of the connection.
  fabric::Link* link_ = nullptr;
  fabric::ConnectionId connection_;
  std::vector<std::byte> reply_;
};

}  // namespace splitnic::bench
