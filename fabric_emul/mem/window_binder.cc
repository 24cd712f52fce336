#include "fabric_emul/mem/window_binder.h"

#include <string>

#include "fabric_emul/mem/access_check.h"

namespace splitnic::fabric {
namespace {

base::Error refused_bind(AccessCheck check) {
  return base::Error(std::string("binding a memory window: check ") + static_cast<char>(check) +
                     " refuses it");
}

}  // namespace

std::optional<AccessCheck> WindowBinder::check_bind(PdId pd, MemoryHandle region,
                                                    VirtualAddress address,
                                                    std::uint64_t length) const noexcept {
  const Key key = entries_.key_of(region);
  if (key.index >= entries_.index_count()) return AccessCheck::kA;
  const MrwtEntry& entry = entries_[key.index];

  if (!check_valid(entry, nullptr)) return AccessCheck::kA;
  if (entry.type != EntryType::kRegion) return AccessCheck::kB;
  if (!check_domain(entry, pd, Qpn{})) return AccessCheck::kC;
  if (!check_instance(entry, key.instance)) return AccessCheck::kD;
  if (length == 0 || !check_range(entry, address, length)) return AccessCheck::kE;
  if (!check_window_bind(entry)) return AccessCheck::kG;
  return std::nullopt;
}

base::Result<MemoryHandle> WindowBinder::bind_window(PdId pd, MemoryHandle region,
                                                     VirtualAddress address, std::uint64_t length,
                                                     std::uint8_t rights, Qpn bound_qp) {
  if (const auto refused = check_bind(pd, region, address, length)) return refused_bind(*refused);
  if ((rights & ~kAccessRights) != 0) {
    return base::Error("binding a memory window: unknown access rights");
  }
  const base::Result<std::uint32_t> index = entries_.take();
  if (!index) return index.error().within("binding a memory window");
  fill_window(*index, region, address, length, rights, bound_qp);
  return entries_.handle_of(*index);
}

// REQUIRES that the bind passed its checks.
void WindowBinder::fill_window(std::uint32_t index, MemoryHandle region, VirtualAddress address,
                               std::uint64_t length, std::uint8_t rights, Qpn bound_qp) {
  const std::uint32_t parent_index = entries_.key_of(region).index;
  MrwtEntry& parent = entries_[parent_index];
  ++parent.windows_bound;
  MrwtEntry& entry = entries_[index];
  entry.start = address;
  entry.length = length;
  const std::uint64_t offset = address.value - parent.start.value;
  if (parent.memory != nullptr) entry.memory = parent.memory + offset;
  entry.space = parent.space;
  entry.att = parent.att;
  entry.att_offset = parent.att_offset + offset;
  entry.att_control = parent.att_control;
  entry.page_log2 = parent.page_log2;
  entry.pd = parent.pd;
  entry.bound_qp = bound_qp;
  entry.parent_index = parent_index;
  entry.type = EntryType::kWindow;
  entry.rights = rights;
  entry.is_valid = true;
}

base::Result<MemoryHandle> WindowBinder::reserve_window(PdId pd) {
  const base::Result<std::uint32_t> index = entries_.take();
  if (!index) return index.error().within("reserving a memory window");
  MrwtEntry& entry = entries_[*index];
  entry.type = EntryType::kWindow;
  entry.pd = pd;
  entry.parent_index = *index;  // none yet: marked by length 0
  return entries_.handle_of(*index);
}

std::optional<AccessCheck> WindowBinder::bind_reserved(PdId pd, MemoryHandle window,
                                                       MemoryHandle region, VirtualAddress address,
                                                       std::uint64_t length, std::uint8_t rights,
                                                       Qpn bound_qp) {
  const std::optional<std::uint32_t> index = entries_.find(window);
  if (!index || entries_[*index].type != EntryType::kWindow) return AccessCheck::kA;
  if (entries_[*index].pd != pd) return AccessCheck::kC;
  if (const auto refused = check_bind(pd, region, address, length)) return refused;
  if ((rights & ~kAccessRights) != 0) return AccessCheck::kF;
  const MrwtEntry& parent = entries_[entries_.key_of(region).index];
  if (parent.space != nullptr && !parent.space->may_bind(address, length, rights)) {
    return AccessCheck::kF;
  }
  if (entries_[*index].length > 0 && clear_window(pd, window)) return AccessCheck::kA;
  fill_window(*index, region, address, length, rights, bound_qp);
  return std::nullopt;
}

std::optional<AccessCheck> WindowBinder::clear_window(PdId pd, MemoryHandle window) {
  const std::optional<std::uint32_t> index = entries_.find(window);
  if (!index) return AccessCheck::kA;
  MrwtEntry& entry = entries_[*index];
  if (entry.type != EntryType::kWindow) return AccessCheck::kB;
  if (entry.pd != pd) return AccessCheck::kC;
  leave_region(entry);
  const std::uint8_t instance = entry.instance;
  entry = MrwtEntry{};
  entry.instance = instance;
  entry.is_used = true;
  entry.type = EntryType::kWindow;
  entry.pd = pd;
  entry.parent_index = *index;
  return std::nullopt;
}

std::optional<AccessCheck> WindowBinder::disassociate(PdId pd, MemoryHandle window) {
  const std::optional<std::uint32_t> index = entries_.find(window);
  if (index && entries_[*index].type == EntryType::kWindow && entries_[*index].length == 0) {
    return AccessCheck::kE;
  }
  return clear_window(pd, window);
}

base::Status WindowBinder::unbind(MemoryHandle window) {
  const std::optional<std::uint32_t> index = entries_.find(window);
  if (!index || entries_[*index].type != EntryType::kWindow) {
    return base::Error("unbinding a memory window: the handle names no window");
  }
  end(*index);
  return {};
}

std::optional<AccessCheck> WindowBinder::unbind_of(PdId pd, MemoryHandle window) {
  const std::optional<std::uint32_t> index = entries_.find(window);
  if (!index) return AccessCheck::kA;
  if (entries_[*index].type != EntryType::kWindow) return AccessCheck::kB;
  if (entries_[*index].pd != pd) return AccessCheck::kC;
  end(*index);
  return std::nullopt;
}

void WindowBinder::end(std::uint32_t index) {
  leave_region(entries_[index]);
  entries_.end(index);
}

// Nothing counts the window any more.
void WindowBinder::leave_region(const MrwtEntry& window) {
  if (window.length > 0) --entries_[window.parent_index].windows_bound;
  one_touch_.on_end(window);
}

}  // namespace splitnic::fabric
