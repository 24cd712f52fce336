// The current-I/O word of a quiescable region: 32 bits in the memory of its consumer. Bit 31 set:
// the region is to become quiescent; bits 30..0 count the I/Os that are outstanding. The bit
// and the count are one word, so no I/O begins after the bit is set. Any thread may call;
// every change is one atomic instruction [S004-10].
//
// The consumer owns the word and may write what it likes: that hurts itself only. Before frames are
// freed the entry is invalid, and then the adapter refuses every access, whatever the word
// contains.
#pragma once

#include <atomic>
#include <cstdint>

namespace splitnic::fabric {

// I/Os that a consumer has outstanding against a region: messages of either kind, and RDMA
// operations. A command, one RDMA read for its data and one response count three [S004-11].
struct IoCount {
  std::uint32_t channel = 0;  // sends and receives
  std::uint32_t memory = 0;   // RDMA writes and reads
  constexpr std::uint32_t total() const { return channel + memory; }
};

class CurrentIo {
 public:
  static constexpr std::uint32_t kQuiesce = 0x80000000;
  static constexpr std::uint32_t kCountMax = 0x7FFFFFFF;

  explicit CurrentIo(std::atomic<std::uint32_t>& word) : word_(word) {}

  // The consumer's. begin() is false, and nothing has changed, if the region is to become
  // quiescent [S004-12] or the count would pass its 31 bits.
  bool begin(std::uint32_t ios = 1) noexcept;
  // True if this was the last I/O that a quiesce waits for: the consumer then calls
  // SwapArbitrator::quiesced() [S004-13]. REQUIRES an I/O that began.
  bool end() noexcept;

  // The arbitrator's. quiesce() is true if no I/O is outstanding: nobody will call then.
  bool quiesce() noexcept;
  void reset() noexcept;

  std::uint32_t count() const noexcept { return load() & kCountMax; }
  bool is_quiescing() const noexcept { return (load() & kQuiesce) != 0; }
  bool is_quiescent() const noexcept { return load() == kQuiesce; }

 private:
  std::uint32_t load() const noexcept { return word_.load(std::memory_order_acquire); }

  std::atomic<std::uint32_t>& word_;
};

}  // namespace splitnic::fabric
