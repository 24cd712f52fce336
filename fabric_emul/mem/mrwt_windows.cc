// Windows whose handle is known before they are bound, entries that a peer ends, and those that end
// with their first use.
#include "base/check.h"
#include "fabric_emul/mem/access_check.h"
#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {

base::Result<MemoryHandle> Mrwt::reserve_window(PdId pd) {
  const base::Result<std::uint32_t> index = take_index();
  if (!index) return index.error().within("reserving a memory window");
  MrwtEntry& entry = entries_[*index];
  entry.type = EntryType::kWindow;
  entry.pd = pd;
  entry.parent_index = *index;  // none yet: marked by length 0
  return permutation_.to_handle({*index, entry.instance});
}

std::optional<AccessCheck> Mrwt::bind_reserved(PdId pd, MemoryHandle window, MemoryHandle region,
                                               VirtualAddress address, std::uint64_t length,
                                               std::uint8_t rights, Qpn bound_qp) {
  const std::optional<std::uint32_t> index = find(window);
  if (!index || entries_[*index].type != EntryType::kWindow || entries_[*index].length != 0) {
    return AccessCheck::kA;
  }
  if (entries_[*index].pd != pd) return AccessCheck::kC;
  if (const auto refused = check_bind(pd, region, address, length)) return refused;
  if ((rights & ~kAccessRights) != 0) return AccessCheck::kF;
  fill_window(*index, region, address, length, rights, bound_qp);
  return std::nullopt;
}

std::optional<AccessCheck> Mrwt::unbind_of(PdId pd, MemoryHandle window) {
  const std::optional<std::uint32_t> index = find(window);
  if (!index) return AccessCheck::kA;
  if (entries_[*index].type != EntryType::kWindow) return AccessCheck::kB;
  if (entries_[*index].pd != pd) return AccessCheck::kC;
  end_window(*index);
  return std::nullopt;
}

std::optional<AccessCheck> Mrwt::end_by_peer(PdId pd, Qpn qp, MemoryHandle handle) {
  const std::optional<std::uint32_t> index = find(handle);
  if (!index || !entries_[*index].is_valid) return AccessCheck::kA;
  const MrwtEntry& entry = entries_[*index];
  if (!check_entry_type(entry, AccessKind::kRemoteWrite, profile_)) return AccessCheck::kB;
  const bool is_bound_elsewhere = entry.bound_qp != Qpn{} && entry.bound_qp != qp;
  if (entry.pd != pd || is_bound_elsewhere) return AccessCheck::kC;
  if ((entry.rights & (kRemoteRead | kRemoteWrite)) == 0) return AccessCheck::kF;
  if (entry.windows_bound > 0) return AccessCheck::kG;
  if (entry.type == EntryType::kWindow)
    end_window(*index);
  else
    end_entry(*index);
  return std::nullopt;
}

void Mrwt::end_window(std::uint32_t index) {
  const MrwtEntry& entry = entries_[index];
  if (entry.length > 0) --entries_[entry.parent_index].windows_bound;
  end_entry(index);
}

void Mrwt::make_one_touch(MemoryHandle window) {
  const std::optional<std::uint32_t> index = find(window);
  CHECK(index && entries_[*index].type == EntryType::kWindow);
  one_touch_live_ += entries_[*index].one_touch_enabled ? 0U : 1U;
  entries_[*index].one_touch_enabled = true;
}

bool Mrwt::touch(MemoryHandle handle, Qpn qp, Psn psn) noexcept {
  if (one_touch_live_ == 0) return true;
  const std::optional<std::uint32_t> index = find(handle);
  if (!index || !entries_[*index].one_touch_enabled) return true;
  MrwtEntry& entry = entries_[*index];
  if (entry.touched) return entry.toucher_qp == qp && entry.toucher_psn == psn;
  entry.touched = true;
  entry.toucher_qp = qp;
  entry.toucher_psn = psn;
  return true;
}

bool Mrwt::may_go_on(MemoryHandle handle, Qpn qp, Psn psn) const noexcept {
  if (one_touch_live_ == 0) return true;
  const std::optional<std::uint32_t> index = find(handle);
  if (!index || !entries_[*index].one_touch_enabled) return true;
  const MrwtEntry& entry = entries_[*index];
  return entry.touched && entry.toucher_qp == qp && entry.toucher_psn == psn;
}

void Mrwt::spend(MemoryHandle handle, Qpn qp, Psn psn) noexcept {
  if (one_touch_live_ == 0) return;
  const std::optional<std::uint32_t> index = find(handle);
  if (!index) return;
  MrwtEntry& entry = entries_[*index];
  if (entry.touched && entry.toucher_qp == qp && entry.toucher_psn == psn) entry.is_valid = false;
}

void Mrwt::touch_early(MemoryHandle handle, Qpn qp, Psn psn, StreamNumber last) noexcept {
  const std::optional<std::uint32_t> index = find(handle);
  if (!index) return;
  MrwtEntry& entry = entries_[*index];
  entry.touched = true;
  entry.toucher_qp = qp;
  entry.toucher_psn = psn;
  entry.stored_ddp_sn = last.value;
}

void Mrwt::line_up(MemoryHandle handle, Qpn qp, StreamNumber last) noexcept {
  const std::optional<std::uint32_t> index = find(handle);
  if (!index) return;
  MrwtEntry& entry = entries_[*index];
  if (entry.touched && entry.toucher_qp == qp && entry.stored_ddp_sn == last.value) {
    entry.is_valid = false;
  }
}

void Mrwt::end_touch(MemoryHandle handle) noexcept {
  if (const std::optional<std::uint32_t> index = find(handle)) entries_[*index].is_valid = false;
}

}  // namespace splitnic::fabric
