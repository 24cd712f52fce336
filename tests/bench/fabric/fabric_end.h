// One end of a run over the fabric: an adapter with one RC queue pair on an underlay of its own,
// and the loop of the daemons. Spinning, the loop asks the underlay at once instead of sleeping.
// Thread: its process has only one.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/poller.h"
#include "base/random.h"
#include "fabric_emul/link/fault_underlay.h"
#include "fabric_emul/verbs/adapter.h"
#include "tests/bench/fabric/two_ends.h"

namespace splitnic::bench {

enum class Op : std::uint8_t { kWrite, kSend, kRead, kDatagrams };
std::string_view name(Op op);

struct Run {
  Op op = Op::kWrite;
  bool is_shm = false;
  bool spins = false;
  std::size_t bytes = 64;
  double seconds = 1;
  double loss_percent = 0;  // of what the passive end receives
  bool goes_back_n = false;
};

// The immediate data of a message: what the passive end does with it.
enum class Word : std::uint32_t { kCount, kAnswer };

class FabricEnd final : private fabric::ConnectionHandler {
 public:
  // Opens the underlay, registers memory, and is connected to the other end on return.
  FabricEnd(const Ends& ends, const Run& run, Control& control, bool is_active);
  ~FabricEnd() override = default;
  FabricEnd(const FabricEnd&) = delete;
  FabricEnd& operator=(const FabricEnd&) = delete;

  // Posts one message of the run, with memory of its own out of slots_for().
  void post(Word word);
  // Sends what was posted.
  void transmit() { adapter_->transmit(clock_.now()); }
  // One turn: sleep (not when spinning), take what arrived, answer, send. False: nothing was done.
  bool turn();
  // The same until `is_done`; ends the process after kSilenceMax.
  template <class Done>
  void turn_until(const Done& is_done) {
    const base::Time limit = clock_.now() + kSilenceMax;
    while (!is_done()) {
      turn();
      if (now_ > limit) fail("nothing moves");
    }
  }
  base::Time now() { return clock_.now(); }
  std::size_t lost() const { return faults_->counts().lost; }
  bool other_has_spoken() const { return poller_.readable(control_slot_); }

  std::size_t sent() const { return sent_; }  // completed, from here
  std::size_t open() const { return posted_ - sent_; }
  std::size_t received() const { return received_; }  // messages, here

 private:
  struct Greeting {
    std::uint32_t handle;
    std::uint64_t start;
    std::array<char, 64> address;
  };
  void open_underlay(const Ends& ends, const Greeting& theirs);
  void open_adapter();
  void lose();
  fabric::Qpn make_qp();
  void post_receive();
  bool take_completions();
  void on_completion(const fabric::Wc& wc);
  fabric::Sge slot(std::size_t number) const;

  void on_link_up(fabric::Link& link) override;
  void on_link_down(fabric::Link&, std::string_view) override {}
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override;
  bool on_connected(fabric::ConnectionId id, fabric::Link& link,
                    const fabric::Mgmt& reply) override;
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject code, base::Bytes) override;
  void on_disconnected(fabric::ConnectionId, std::string_view) override {}

  const Run run_;
  Control& control_;
  const bool is_active_;
  base::SystemClock clock_;
  base::OsRandom random_;
  base::Time now_{};
  std::string address_;  // of the passive end
  fabric::PeerAddress peer_;
  std::unique_ptr<fabric::Underlay> underlay_;
  std::optional<fabric::FaultUnderlay> faults_;
  std::unique_ptr<fabric::Adapter> adapter_;
  fabric::Port* port_ = nullptr;
  fabric::PdId pd_;
  fabric::CqId send_cq_, recv_cq_;
  fabric::Qpn qpn_;
  bool is_connected_ = false;
  std::vector<std::byte> memory_;
  fabric::MemoryHandle handle_, remote_handle_;
  fabric::VirtualAddress start_, remote_start_;
  base::Poller poller_;
  std::size_t fabric_slot_ = 0, control_slot_ = 0;
  bool did_ = true;
  std::size_t next_slot_ = 0, next_receive_ = 0;
  std::size_t posted_ = 0, sent_ = 0, received_ = 0;
};

}  // namespace splitnic::bench
