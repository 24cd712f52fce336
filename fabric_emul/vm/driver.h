// The driver of an adapter: queue pairs and remote keys of processes [S000-19, S000-27].
//
// It keeps one common state a process: the copy of its segment table, a protection domain, and an
// implicit region over all its effective addresses, with the bind right and no remote one; a kernel
// process has a second one over the virtual addresses. BindRKey is a bind on such a region.
// The caller gets numbers only: queue pair, key, address. All state is here, none of it in memory
// of the caller.
//
// Each caller passes its process id; a machine would know its callers. A call that is refused has
// errno EINVAL, unless something is used up, and has changed nothing. entries() counts the calls
// into the kernel: bind_rkey() and unbind_rkey() are none [S000-20].
//
// Adapter, VMM and clock must outlive it. Thread: the data thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/verbs/adapter.h"
#include "fabric_emul/vm/address_space.h"
#include "fabric_emul/vm/private_page_table.h"

namespace splitnic::fabric {

// An address that a caller names. User processes name effective ones only [S000-21].
using LocalAddress = std::variant<EffectiveAddress, VirtualAddress, PhysicalAddress>;

// The range that a key is bound to.
struct RkeyRange {
  LocalAddress address;
  std::uint64_t length = 0;
  std::uint8_t rights = 0;    // kRemoteRead, kRemoteWrite or both
  bool is_one_touch = false;  // the key ends with the first operation that uses it [S000-25]
};

// The driver's record of a queue pair.
struct QpRecord {
  ProcessId process;
  std::size_t send_depth = 0;
  std::size_t receive_depth = 0;
  Service service{};
  bool accepts_rdma = false;
};

class AdapterDriver final : private VmmClient, private UnmappedSink {
 public:
  using ErrorHandler = std::function<void(const UnmappedAccess&)>;

  AdapterDriver(Adapter& adapter, Vmm& vmm, base::Clock& clock, PageTableForm form);
  ~AdapterDriver() override;
  AdapterDriver(const AdapterDriver&) = delete;
  AdapterDriver& operator=(const AdapterDriver&) = delete;

  // The first queue pair of a process makes its common state, the last one ends it, keys included.
  // The protection domain is that of the process, whatever `init` names.
  base::Result<Qpn> open_qp(ProcessId caller, const QpInit& init);
  base::Status close_qp(ProcessId caller, Qpn qpn);
  // Called by the VMM for each segment that is added, deleted or changed [S000-28].
  void segment_table_update(ProcessId process, SegmentPointer segment,
                            const SegmentEntry& entry) override;
  // The page at the address may be used by the adapter. What to name to remote nodes and in work
  // requests: never a physical address [S000-29]. A kernel process may name any of the three.
  base::Result<VirtualAddress> map_local_page(ProcessId caller, LocalAddress address);

  // Allocates `count` keys, bound to nothing; all or none.
  base::Result<std::vector<MemoryHandle>> allocate_rkeys(ProcessId caller, std::size_t count);
  // Unbinds it first if need be.
  base::Status deallocate_rkey(ProcessId caller, MemoryHandle key);
  // Binds a key to a range; what it was bound to before is not reachable by it any more [S000-23].
  // Length 0 at address 0 unbinds [S000-22].
  base::Status bind_rkey(ProcessId caller, MemoryHandle key, const RkeyRange& range);
  base::Status unbind_rkey(ProcessId caller, MemoryHandle key);

  // The key that work requests of a process name for its own effective addresses; for virtual ones,
  // of kernel processes.
  base::Result<MemoryHandle> effective_key(ProcessId caller) const;
  base::Result<MemoryHandle> virtual_key(ProcessId caller) const;

  // Hears of accesses to addresses that are not mapped, one call each. It takes note and returns.
  void set_default_error_handler(ErrorHandler handler) { on_error_ = std::move(handler); }
  std::uint64_t unmapped_accesses() const { return unmapped_; }

  std::uint64_t entries() const { return entries_; }
  // Returns the number of processes that have common state: one copy of a segment table each.
  std::size_t process_count() const { return processes_.size(); }
  // For the kernel.
  std::optional<QpRecord> record(Qpn qpn) const;

 private:
  struct Common;

  void on_page_changed(VirtualPage page, const PageEntry& entry) override;
  void on_page_gone(VirtualPage page) override;
  void on_process_end(ProcessId process) override;
  void on_unmapped(const UnmappedAccess& access) noexcept override;

  Common* find(ProcessId process) const;
  base::Result<Common*> make_common(ProcessId process);
  base::Status make_regions(Common& common, ProcessKind kind);
  void drop(ProcessId process);
  base::Result<VirtualAddress> virtual_of(const Common& common, LocalAddress address) const;
  bool owns(const Common& common, MemoryHandle key) const;
  base::Result<MemoryHandle> region_for(const Common& common, const RkeyRange& range) const;

  Adapter& adapter_;
  Vmm& vmm_;
  base::Clock& clock_;
  PrivatePageTable private_pages_;
  const PageTable& pages_;  // the private one, or that of the VMM
  std::map<ProcessId, std::unique_ptr<Common>> processes_;
  ErrorHandler on_error_;
  std::uint64_t unmapped_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace splitnic::fabric
