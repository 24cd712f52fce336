// One end of a measurement: an adapter on an underlay with one RC queue pair at a time, and the
// loop of the daemons. Spinning, the loop asks the underlay at once instead of sleeping. The active
// end names the measurement; the passive one serves one peer after the other (bench_handshake.h),
// validates everything that it sends and survives its failures. Thread: its process has only one.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/verbs/adapter.h"
#include "tools/bench/bench_handshake.h"
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

  // Active: is connected on return; an error if that fails within `patience`.
  base::Status connect(const fabric::PeerAddress& peer, const Run& run, base::Duration patience);
  // Active: ends the measurement for both.
  void disconnect();
  // Posts one message of the run, in its own slot of slots_for().
  void post(Word word);
  // Sends what was posted.
  void transmit() { adapter_->transmit(clock_.now()); }
  // One iteration: sleep (not when spinning), take what arrived, reply, send.
  void iterate();
  // The same until `is_done`. An error: the connection failed, or nothing moved for `silence`.
  template <class Done>
  base::Status iterate_until(const Done& is_done, base::Duration silence = kSilenceMax) {
    const base::Time limit = clock_.now() + silence;
    while (!is_done()) {
      iterate();
      if (!why_.empty()) return base::Error(why_);
      if (now_ > limit) return base::Error("nothing moves");
    }
    return {};
  }
  base::Time now() { return clock_.now(); }
  bool is_woken() const { return waiting_.poller().readable(wake_slot_); }
  bool is_connected() const { return is_connected_; }
  bool has_link() const { return link_ != nullptr; }  // somebody is there

  std::size_t sent() const { return sent_; }  // completed, from here
  std::size_t open() const { return posted_ - sent_; }
  std::size_t received() const { return received_; }  // messages, here

  // For base::IdleStrategy, as the two programs count frames.
  std::uint64_t bytes_processed() const {
    return (sent_ + received_) * (what_.bytes + base::IdleStrategy::kFrameOverheadBytes);
  }

 private:
  base::Status begin(const Handshake& what);
  void end_session();
  void fail(const std::string& why);
  base::Status post_receive();
  base::Status try_post(Word word);
  bool take_completions();
  void on_completion(const fabric::Wc& wc);
  fabric::Sge slot(std::size_t number) const;
  std::array<std::byte, Handshake::kBytes> handshake() const;
  void take(const Handshake& theirs);

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
  fabric::Port* port_ = nullptr;
  fabric::PdId pd_;
  fabric::CqId send_cq_, recv_cq_;
  fabric::IdleWait waiting_{false};
  std::size_t wake_slot_ = 0;
  bool made_progress_ = true;

  // Of the connection.
  Handshake what_;
  std::string why_;  // it failed
  fabric::Link* link_ = nullptr;
  fabric::ConnectionId connection_;
  fabric::Qpn qpn_;
  bool is_connected_ = false;
  std::vector<std::byte> memory_;
  fabric::MemoryHandle handle_, remote_handle_;
  fabric::VirtualAddress start_, remote_start_;
  std::array<std::byte, Handshake::kBytes> reply_{};
  std::size_t next_slot_ = 0, next_receive_ = 0;
  std::size_t posted_ = 0, sent_ = 0, received_ = 0;
};

}  // namespace splitnic::bench
