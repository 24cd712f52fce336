// One direction of a shared-memory wire: a single-producer, single-consumer ring of batches between
// two processes, the putter and the taker. A record is {length u32, stride u32} and the bytes, in
// steps of 64 bytes; indices run freely modulo 2^32 and are masked.
//
// The other side may write anything anywhere in the segment at any time [P-44]. So: our own index
// is kept in our own memory and only published; the index of the other side, and each word of a
// record, is read once and checked before it is used; bytes are copied out once and only the copy
// is used. A batch may be written in the ring itself, where the other side sees it before it is
// published: its length comes from the owner, nothing is read back. Thread: one on each side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

// The indices and flags of a ring that both processes share. Each word has its own cache line.
struct ShmRingControl {
  alignas(64) std::atomic<std::uint32_t> head;         // written by the side that puts
  alignas(64) std::atomic<std::uint32_t> tail;         // written by the side that takes
  alignas(64) std::atomic<std::uint32_t> taker_waits;  // set before sleeping, cleared by the side
                                                       // that wakes
  alignas(64) std::atomic<std::uint32_t> putter_waits;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::size_t kShmStep = 64;
inline constexpr std::size_t kShmRecordHeader = 8;
// The longest batch that an underlay puts, its batch_bytes_max(). A longer record is invalid.
inline constexpr std::size_t kShmBatchMax = kBatchBytesMax;

class ShmRing {
 public:
  enum class Result {
    kDone,
    kWait,    // empty; or full, and a wake-up was requested
    kBroken,  // the other side wrote impossible values
  };

  // `data` and `control` outlive the ring; REQUIRES data.size() to be a power of two >= 128 KiB and
  // indices that are still zero.
  ShmRing(ShmRingControl& control, base::MutableBytes data);

  // Puts one batch. REQUIRES 0 < stride and 0 < bytes.size() <= kShmBatchMax.
  Result put(base::Bytes bytes, std::size_t stride);
  // Returns the place of the next batch of put_in_place(), kShmBatchMax bytes; nothing if they are
  // not free in one piece now. A put() overwrites it.
  base::MutableBytes room();
  // Puts the first `bytes` of room(), with no put() since. REQUIRES as put().
  Result put_in_place(std::size_t bytes, std::size_t stride);
  // Takes the next batch into `out`. REQUIRES out.size() >= kShmBatchMax.
  Result take(base::MutableBytes out, std::size_t& bytes, std::size_t& stride);

  // Called before the taker sleeps: requests a wake-up with the next put. Returns false if there is
  // something to take.
  bool ask_for_wake();
  // Called after puts and takes: returns true if the other side sleeps and has something to do now.
  // Clears the request, so that one wake-up is sent for it.
  bool should_wake_taker();
  bool should_wake_putter();

 private:
  std::size_t mask() const { return data_.size() - 1; }
  std::optional<std::size_t> free_bytes() const;  // nothing: the other side wrote impossible values
  void publish(std::size_t bytes, std::size_t stride);
  std::uint32_t word_at(std::size_t position) const;
  void copy_in(std::uint32_t position, base::Bytes bytes);
  void copy_out(std::uint32_t position, base::MutableBytes out) const;

  ShmRingControl& control_;
  base::MutableBytes data_;
  std::uint32_t head_ = 0;  // ours if we put
  std::uint32_t tail_ = 0;  // ours if we take
};

}  // namespace splitnic::fabric
