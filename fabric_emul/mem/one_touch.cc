#include "fabric_emul/mem/one_touch.h"

#include "base/check.h"

namespace splitnic::fabric {

void OneTouch::enable(MemoryHandle window) {
  const std::optional<std::uint32_t> index = entries_.find(window);
  CHECK(index && entries_[*index].type == EntryType::kWindow);
  enabled_count_ += entries_[*index].one_touch_enabled ? 0U : 1U;
  entries_[*index].one_touch_enabled = true;
}

void OneTouch::on_end(const MrwtEntry& window) noexcept {
  if (window.one_touch_enabled) --enabled_count_;
}

bool OneTouch::touch_entry(MemoryHandle handle, Qpn qp, Psn psn) noexcept {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index || !entries_[*index].one_touch_enabled) return true;
  MrwtEntry& entry = entries_[*index];
  if (entry.touched) return entry.toucher_qp == qp && entry.toucher_psn == psn;
  entry.touched = true;
  entry.toucher_qp = qp;
  entry.toucher_psn = psn;
  return true;
}

bool OneTouch::may_entry_go_on(MemoryHandle handle, Qpn qp, Psn psn) const noexcept {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index || !entries_[*index].one_touch_enabled) return true;
  const MrwtEntry& entry = entries_[*index];
  return entry.touched && entry.toucher_qp == qp && entry.toucher_psn == psn;
}

void OneTouch::spend_entry(MemoryHandle handle, Qpn qp, Psn psn) noexcept {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index) return;
  MrwtEntry& entry = entries_[*index];
  if (entry.touched && entry.toucher_qp == qp && entry.toucher_psn == psn) entry.is_valid = false;
}

void OneTouch::touch_early(MemoryHandle handle, Qpn qp, Psn psn, StreamNumber last) noexcept {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index) return;
  MrwtEntry& entry = entries_[*index];
  entry.touched = true;
  entry.toucher_qp = qp;
  entry.toucher_psn = psn;
  entry.stored_ddp_sn = last.value;
}

void OneTouch::line_up(MemoryHandle handle, Qpn qp, StreamNumber last) noexcept {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index) return;
  MrwtEntry& entry = entries_[*index];
  if (entry.touched && entry.toucher_qp == qp && entry.stored_ddp_sn == last.value) {
    entry.is_valid = false;
  }
}

void OneTouch::end_touch(MemoryHandle handle) noexcept {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (index) entries_[*index].is_valid = false;
}

}  // namespace splitnic::fabric
