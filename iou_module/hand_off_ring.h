// Frames on their way from one data thread to another, oldest first: a byte ring with one producer
// and one consumer, and no lock. A frame is copied in and lies in one piece; when there is no room
// it is refused. Memory that was never used is never touched.
// Thread: push() from one thread, take() and is_empty() from one other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "iou_module/hosts/host_id.h"

namespace splitnic::iou {

class HandOffRing {
 public:
  // Enough for a TCP window of 6 MiB while the consumer waits for a processor.
  static constexpr std::size_t kBytes = 8U << 20;
  static constexpr std::size_t kFramesAtOnce = 64;  // of a take()

  enum class Pushed : std::uint8_t {
    kNo,     // no room
    kFirst,  // the ring was empty: the consumer may be asleep
    kYes,
  };

  HandOffRing() : memory_(std::make_unique_for_overwrite<std::byte[]>(kBytes)) {}

  // REQUIRES that the frame has less than kBytes / 4 bytes.
  Pushed push(std::size_t nic, const HostId& node, base::Bytes frame) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    const std::size_t needed = record_bytes(frame.size());
    const std::size_t to_end = kBytes - tail % kBytes;
    const std::size_t skipped = to_end < needed ? to_end : 0;
    if (tail + skipped + needed - head > kBytes) return Pushed::kNo;
    if (skipped > 0) put(tail, {.bytes = kSkip});
    put(tail + skipped,
        {static_cast<std::uint32_t>(frame.size()), static_cast<std::uint32_t>(nic), node});
    std::memcpy(at(tail + skipped) + sizeof(Head), frame.data(), frame.size());
    tail_.store(tail + skipped + needed, std::memory_order_seq_cst);
    return head_.load(std::memory_order_seq_cst) == tail ? Pushed::kFirst : Pushed::kYes;
  }

  // As the consumer sees it.
  bool is_empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
  }
  // Calls take(nic, node, frame) for the oldest frames and returns their number. A frame is valid
  // during its call.
  template <class Take>
  std::size_t take(Take&& take) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t tail = tail_.load(std::memory_order_seq_cst);
    std::size_t count = 0;
    while (head != tail && count < kFramesAtOnce) {
      Head record;
      std::memcpy(&record, at(head), sizeof record);
      if (record.bytes == kSkip) {
        head += kBytes - head % kBytes;
        continue;
      }
      take(std::size_t{record.nic}, record.node,
           base::Bytes(at(head) + sizeof record, record.bytes));
      head += record_bytes(record.bytes);
      ++count;
    }
    head_.store(head, std::memory_order_seq_cst);
    return count;
  }

 private:
  struct Head {
    std::uint32_t bytes = 0;
    std::uint32_t nic = 0;
    HostId node{};
    std::uint64_t unused = 0;  // so that records fill the ring
  };
  static constexpr std::uint32_t kSkip = 0xffffffff;  // the rest up to the end of the memory
  static constexpr std::size_t record_bytes(std::size_t frame) {
    return (sizeof(Head) + frame + sizeof(Head) - 1) / sizeof(Head) * sizeof(Head);
  }
  static_assert(kBytes % sizeof(Head) == 0);

  std::byte* at(std::uint64_t position) const { return memory_.get() + position % kBytes; }
  void put(std::uint64_t position, const Head& head) {
    std::memcpy(at(position), &head, sizeof head);
  }

  std::unique_ptr<std::byte[]> memory_;
  // Bytes so far; each on its own cache line, as each has another writer.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace splitnic::iou
