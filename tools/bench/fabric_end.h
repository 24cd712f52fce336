// One end of a measurement: an adapter on an underlay with the queue pairs of one session at a
// time, and the loop of the daemons. Spinning, the loop asks the underlay at once instead of
// sleeping. The active end names the measurement; the passive one serves one peer after the other
// (bench_handshake.h), validates everything that it sends and survives its failures.
// Thread: its process has only one.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/verbs/adapter.h"
#include "tools/bench/bench_handshake.h"
#include "tools/bench/bench_queues.h"
#include "tools/bench/message_mark.h"
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
  ~FabricEnd() override = default;
  FabricEnd(const FabricEnd&) = delete;
  FabricEnd& operator=(const FabricEnd&) = delete;

  // Active: is connected on return; an error if that fails within `patience`, ETIMEDOUT if there
  // was no reply. A run that the service cannot do is refused before anything is sent, and a
  // message that is too long for the path, as EMSGSIZE, before CONNECT.
  base::Status connect(const fabric::PeerAddress& peer, const Run& run, base::Duration patience);
  // Active: ends the measurement for both.
  void disconnect();
  // Active: posts one message of the run, in its own slot of slots_for(); with kReport an empty
  // Send, which is no message.
  void post(Word word);
  // Active: messages in flight are given up. The reply to a later one still counts them.
  void write_off() { written_off_ = posted_; }
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
      if (has_failed()) return why_;
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
  bool is_connected() const { return is_connected_; }
  bool has_link() const { return link_ != nullptr; }  // somebody is there

  std::size_t in_flight_max() const { return queues_.in_flight_max(); }
  // Active: messages of the session.
  std::size_t posted() const { return posted_; }
  // Of an unacknowledged service: messages since the newest that a reply counts.
  std::size_t uncounted() const { return posted_ - replied_; }
  // In flight: not complete, or on an unacknowledged service neither replied to nor written off.
  std::size_t open() const {
    const std::size_t queued = requested_ - sent_;
    if (fabric::is_acknowledged(queues_.what().service)) return queued;
    return std::max(queued, posted_ - std::max(replied_, written_off_));
  }
  // The newest message has its reply; if it is a read, it is complete.
  bool is_replied() const {
    return queues_.what().op == Op::kRead ? requested_ == sent_ : replied_ == posted_;
  }
  // Messages that arrived at the passive end. The active one knows them by the last reply, on an
  // unacknowledged service only.
  std::size_t arrived() const { return arrived_; }

  // For base::IdleStrategy, as the two programs count frames.
  std::uint64_t bytes_processed() const {
    return (sent_ + received_) * (queues_.what().bytes + base::IdleStrategy::kFrameOverheadBytes);
  }

 private:
  bool has_failed() const { return !why_.text().empty(); }
  void end_session();
  void fail(const base::Error& why);
  bool take_completions();
  void on_completion(const fabric::Wc& wc);
  void take_message(const fabric::Wc& wc);
  void on_reply(const MessageMark& mark);
  fabric::MgmtReject check_request(const fabric::Link& link, const fabric::MgmtPair& pair,
                                   const Handshake& theirs) const;
  fabric::MgmtReject begin_session(fabric::Link& link, const fabric::MgmtPair& pair,
                                   const Handshake& theirs, fabric::Mgmt& reply);

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
  base::Time now_{};
  std::unique_ptr<fabric::Adapter> adapter_;
  BenchQueues queues_;
  fabric::Port* port_ = nullptr;
  fabric::IdleWait waiting_{false};
  std::size_t wake_slot_ = 0;
  bool made_progress_ = true;

  // Of the connection.
  base::Error why_;  // it failed; without a text: it did not
  fabric::Link* link_ = nullptr;
  fabric::ConnectionId connection_;
  bool is_connected_ = false;
  std::vector<std::byte> reply_;
  // Requested: messages and reports; sent: those of them that are complete.
  std::size_t posted_ = 0, requested_ = 0, sent_ = 0, received_ = 0;
  std::size_t replied_ = 0, written_off_ = 0;  // the number of a message, as of posted_
  std::size_t arrived_ = 0;
};

}  // namespace splitnic::bench
