// Frames of one size from one end to another over a channel pair, in virtual time: what push and
// pull have in common. Frame i lies in buffer i modulo kBuffers of both ends. The receiver returns
// buffers in batches with BufferRecvPoolUpdate, and frames arrive in order. A derived class knows
// how a frame is moved. The loop is that of the programs: an iteration receives, acts on what
// completed, and sends.
//
// For measurement only: the programs push and have no other way [S001-04] [S001-53]. Thread: one.
#pragma once

#include <array>
#include <cstdint>

#include "tests/sim/loss/bottleneck_carrier.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::sim {

inline constexpr std::size_t kBuffers = 64;
inline constexpr std::size_t kBufferBytes = 64 << 10;
inline constexpr std::size_t kReturnBatch = 16;  // buffers that one Update returns

struct TransferConfig {
  std::size_t frame_bytes = 64;  // 16 to kBufferBytes
  base::Duration delay{};        // of the path, one way
};

// The traffic that one end has sent on both channels.
struct Sent {
  std::array<std::uint64_t, fabric::kOpValues> packets{};  // by operation
  std::uint64_t cells = 0;                                 // without those of ACKs and NAKs
  std::uint64_t acks = 0;                                  // ACKs and NAKs
  std::uint64_t retransmitted = 0;                         // cells

  std::uint64_t of(fabric::Op op) const { return packets[static_cast<std::size_t>(op)]; }
  std::uint64_t all_packets() const;
  friend Sent operator-(const Sent& a, const Sent& b);
};

struct Sustained {
  std::uint64_t frames = 0;        // with those of the warm-up
  Sent by_sender, by_receiver;     // for all of them
  std::uint64_t timed_frames = 0;  // that arrived after the warm-up
  base::Duration took{};           // until the last of them
};

class Transfer {
 public:
  explicit Transfer(const TransferConfig& config);
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Moves warm_up + frames frames, as many at a time as there are buffers; ends idle.
  Sustained sustain(std::size_t warm_up, std::size_t frames);
  // From the post of a frame, with nothing else in flight, until the receiver knows that all of it
  // is in its memory; ends idle.
  base::Duration lone_frame();

 protected:
  static constexpr std::size_t kMessageBytesMax = 64;

  // At the sender: the frame in this buffer may go.
  virtual void send_frame(std::size_t buffer) = 0;
  // At the receiver: a work request has completed with success. `message` is what a Send on the
  // control channel brought. Calls on_frame() once per frame.
  virtual void on_completion(const fabric::Wc& wc, base::Bytes message) = 0;

  void on_frame(std::size_t buffer);
  fabric::testing::End& sender() { return pair_.b(); }
  fabric::testing::End& receiver() { return pair_.a(); }
  // A message on the control channel. Its place is reused after kBuffers messages.
  void send_message(fabric::testing::End& from, base::Bytes message);
  // The frame of a buffer, at either end.
  fabric::Sge frame(const fabric::testing::Memory& memory, std::size_t buffer) const {
    return memory.sge(buffer * kBufferBytes, config_.frame_bytes);
  }

  const TransferConfig config_;
  BottleneckCarrier* carrier_ = nullptr;
  fabric::testing::AdapterPair pair_;
  fabric::testing::QpPair control_, data_;
  fabric::testing::Memory* source_ = nullptr;       // of the sender
  fabric::testing::Memory* destination_ = nullptr;  // of the receiver

 private:
  struct Channel0 {
    fabric::testing::Memory* outgoing = nullptr;
    fabric::testing::Memory* incoming = nullptr;
    std::size_t next = 0;  // place of the next message
  };
  std::unique_ptr<fabric::testing::Carrier> make_carrier();
  void post_message_receive(fabric::testing::End& end, std::uint64_t slot);
  base::Bytes repost(fabric::testing::End& end, const fabric::Wc& wc);
  void step(base::Time until);
  template <class Done>
  void step_until(const Done& is_done);
  void rest();
  bool take_at_sender();
  bool take_at_receiver();
  void on_update(base::Bytes message);
  void stamp(fabric::testing::Memory& memory, std::uint64_t number, bool checks);
  void count();
  Channel0& channel0(const fabric::testing::End& end) {
    return channels_[&end == &pair_.a() ? 0 : 1];
  }

  std::array<Channel0, 2> channels_;
  std::uint64_t wanted_ = 0;  // frames that the sender may begin
  std::uint64_t begun_ = 0, arrived_ = 0, returned_ = 0;
  base::Time begun_at_{}, arrived_at_{};  // of the last
  std::array<Sent, 2> sent_;              // by the receiver, by the sender
};

}  // namespace splitnic::sim
