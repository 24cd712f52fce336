// The virtual memory manager of an emulated node: processes, their segment tables, and the pages
// behind them, in frames of an arena or out. It reports changes to the drivers of a process
// [S000-27, S000-28]. Segment pointers and upper bits are never reused, so that a key
// which is still bound leads to nothing when its segment is gone. Both have the highest bit set and
// differ: an address that travels is never physical, nor of the other kind [S000-29].
//
// A page that was never touched is out and holds zeros. What processes and drivers call is an entry
// into the kernel and counted, questions too: a verb that promises to stay out of the kernel asks
// nothing here. bring_in(), at() and the shared page table are for adapters. One thread owns it; it
// outlives its drivers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "fabric_emul/paging/arena.h"
#include "fabric_emul/vm/inverted_page_table.h"
#include "fabric_emul/vm/segment_table.h"

namespace splitnic::fabric {

enum class ProcessKind : std::uint8_t { kUser, kKernel };

// Notifications to a driver while it is registered.
class VmmClient {
 public:
  virtual ~VmmClient() = default;
  // The entry as it is now; without its valid bit it is gone.
  virtual void segment_table_update(ProcessId process, SegmentPointer segment,
                                    const SegmentEntry& entry) = 0;
  virtual void on_page_changed(VirtualPage page, const PageEntry& entry) = 0;
  virtual void on_page_gone(VirtualPage page) = 0;
  virtual void on_process_end(ProcessId process) = 0;
};

class Vmm {
 public:
  // REQUIRES pages of 4 KiB; the arena outlives this.
  explicit Vmm(Arena& arena);
  ~Vmm();
  Vmm(const Vmm&) = delete;
  Vmm& operator=(const Vmm&) = delete;

  ProcessId create_process(ProcessKind kind);
  base::Status end_process(ProcessId process);
  std::optional<ProcessKind> kind_of(ProcessId process) const;

  // Adds memory to the process: `pages` pages of zeros. Returns the address of the first byte.
  base::Result<EffectiveAddress> add_segment(ProcessId process, std::uint64_t pages,
                                             std::uint8_t protection = kPageProtections);
  // From here on `segment` is the first address of a segment of the process.
  base::Status remove_segment(ProcessId process, EffectiveAddress segment);
  base::Status resize_segment(ProcessId process, EffectiveAddress segment, std::uint64_t pages);
  base::Status protect_segment(ProcessId process, EffectiveAddress segment,
                               std::uint8_t protection);
  // The segment leads to the memory of another segment of the process from now on.
  base::Status remap_segment(ProcessId process, EffectiveAddress segment, EffectiveAddress like);

  // The client is notified about this process until unregistered; returns the present table.
  base::Result<SegmentTable> register_driver(ProcessId process, VmmClient& client);
  void unregister_driver(ProcessId process, VmmClient& client);
  std::size_t registrations() const;

  // Brings a page in and lets adapters use it; its entry.
  base::Result<PageEntry> map_page(VirtualPage page);
  // False if there is no such page, or no frame for it.
  bool bring_in(VirtualPage page) noexcept;
  base::Status take_out(VirtualPage page);
  // Accesses of a process to its own memory.
  base::Status store(ProcessId process, EffectiveAddress address, base::Bytes in);
  base::Status load(ProcessId process, EffectiveAddress address, base::MutableBytes out);

  std::optional<VirtualAddress> to_virtual(ProcessId process, EffectiveAddress address) const;
  // nullopt: it is out, or not there.
  std::optional<PhysicalAddress> to_physical(VirtualAddress address) const;
  std::optional<VirtualPage> page_in(PhysicalPage frame) const;
  // REQUIRES a frame of the arena.
  std::byte* at(PhysicalAddress address) const noexcept {
    return arena_.frame(page_of(address).value) + offset_in_page(address.value);
  }
  // For adapters that share it.
  const PageTable& page_table() const { return table_; }

  std::uint64_t entries() const { return entries_; }
  std::uint64_t brought_in() const { return brought_in_; }
  std::uint64_t without_frame() const { return without_frame_; }

 private:
  struct Process {
    ProcessKind kind = ProcessKind::kUser;
    SegmentTable table;
    std::vector<VmmClient*> clients;
  };
  // Memory that virtual addresses with the same upper bits lead to.
  struct Memory {
    std::uint64_t pages = 0;
    std::uint8_t protection = 0;
    std::size_t users = 0;                                  // segments that lead here
    std::map<std::uint32_t, std::vector<std::byte>> saved;  // pages that were ever in; empty: is in
  };

  base::Result<SegmentEntry> find(ProcessId process, EffectiveAddress segment) const;
  // Gives what lies at each part of a range to visit(memory, offset in the range, byte count).
  using Visit = std::function<void(std::byte*, std::size_t, std::size_t)>;
  base::Status each_page(ProcessId process, EffectiveAddress address, std::size_t bytes,
                         const Visit& visit);
  void publish(ProcessId id, SegmentPointer segment, const SegmentEntry& entry);
  void publish_memory(VirtualSegment upper);
  void set_page(VirtualPage page, const PageEntry& entry);
  void drop_pages(VirtualSegment upper, std::uint64_t from);
  void release(VirtualSegment upper);

  Arena& arena_;
  InvertedPageTable table_;
  std::map<ProcessId, Process> processes_;
  std::map<VirtualSegment, Memory> memories_;
  std::uint32_t last_process_ = 0;
  std::uint32_t next_pointer_;
  std::uint32_t next_upper_;
  mutable std::uint64_t entries_ = 0;
  std::uint64_t brought_in_ = 0;
  std::uint64_t without_frame_ = 0;
};

}  // namespace splitnic::fabric
