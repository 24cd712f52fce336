// The remote-key verbs of the driver. Binding asks what the driver has: its copy of the segment
// table and the memory table, never the VMM [S000-20].
#include <cerrno>
#include <limits>

#include "fabric_emul/vm/driver_state.h"
#include "fabric_emul/vm/invalid.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint8_t kRemoteRights = kRemoteRead | kRemoteWrite;

std::uint64_t value_of(const LocalAddress& address) {
  return std::visit([](const auto& kind) { return kind.value; }, address);
}

}  // namespace

base::Result<std::vector<MemoryHandle>> AdapterDriver::allocate_rkeys(ProcessId caller,
                                                                      std::size_t count) {
  ++entries_;
  const Common* const common = find(caller);
  if (common == nullptr) return invalid("allocating keys: the caller has no queue pair");
  if (count == 0) return invalid("allocating keys: at least one");
  const Mrwt& table = adapter_.memory();
  if (count > table.entries_max() - table.live_count()) {
    return base::Error("allocating keys: the table has no room for them", ENOMEM);
  }
  WindowBinder& windows = adapter_.memory().windows();
  std::vector<MemoryHandle> keys;
  while (keys.size() < count) {
    const auto key = windows.reserve_window(common->pd);
    if (!key) {
      for (const MemoryHandle one : keys) static_cast<void>(windows.unbind_of(common->pd, one));
      return key.error().within("allocating keys");
    }
    keys.push_back(*key);
  }
  return keys;
}

base::Status AdapterDriver::deallocate_rkey(ProcessId caller, MemoryHandle key) {
  ++entries_;
  const Common* const common = find(caller);
  if (common == nullptr || adapter_.memory().windows().unbind_of(common->pd, key)) {
    return invalid("deallocating a key: it is not the caller's");
  }
  return {};
}

base::Status AdapterDriver::bind_rkey(ProcessId caller, MemoryHandle key, const RkeyRange& range) {
  const Common* const common = find(caller);
  if (common == nullptr || !owns(*common, key)) {
    return invalid("binding a key: it is not the caller's");
  }
  WindowBinder& windows = adapter_.memory().windows();
  if (value_of(range.address) == 0 && range.length == 0) {
    CHECK(!windows.clear_window(common->pd, key));
    return {};
  }
  const auto region = region_for(*common, range);
  if (!region) return region.error().within("binding a key");
  const VirtualAddress start(value_of(range.address));
  CHECK(!windows.check_bind(common->pd, *region, start, range.length));
  CHECK(!windows.bind_reserved(common->pd, key, *region, start, range.length, range.rights, Qpn{}));
  if (range.is_one_touch) adapter_.memory().one_touch().enable(key);
  return {};
}

base::Status AdapterDriver::unbind_rkey(ProcessId caller, MemoryHandle key) {
  return bind_rkey(caller, key, {EffectiveAddress(0), 0, 0});
}

bool AdapterDriver::owns(const Common& common, MemoryHandle key) const {
  const MrwtEntry* const entry = adapter_.memory().entry(key);
  return entry != nullptr && entry->type == EntryType::kWindow && entry->pd == common.pd;
}

// The implicit region that the range is bound in, if the caller may bind it [S000-21].
base::Result<MemoryHandle> AdapterDriver::region_for(const Common& common,
                                                     const RkeyRange& range) const {
  const std::uint64_t start = value_of(range.address);
  if (range.rights == 0 || (range.rights & ~kRemoteRights) != 0) {
    return invalid("a key gives remote rights, and no others");
  }
  if (start == 0 || range.length == 0) return invalid("the range is empty or begins at 0");
  if (range.length > std::numeric_limits<std::uint64_t>::max() - start) {
    return invalid("the range passes the end of the address space");
  }
  if (const auto* const at = std::get_if<EffectiveAddress>(&range.address)) {
    if (!common.effective.may_bind(VirtualAddress(start), range.length, range.rights)) {
      return invalid("the caller may not access the range so");
    }
    return common.effective_key;
  }
  if (!std::holds_alternative<VirtualAddress>(range.address) || !common.virtual_key) {
    return invalid("the caller may not name an address of this kind");
  }
  return *common.virtual_key;
}

base::Result<MemoryHandle> AdapterDriver::effective_key(ProcessId caller) const {
  const Common* const common = find(caller);
  if (common == nullptr) return invalid("the caller has no queue pair");
  return common->effective_key;
}

base::Result<MemoryHandle> AdapterDriver::virtual_key(ProcessId caller) const {
  const Common* const common = find(caller);
  if (common == nullptr || !common->virtual_key) {
    return invalid("the caller is no kernel process with a queue pair");
  }
  return *common->virtual_key;
}

}  // namespace splitnic::fabric
