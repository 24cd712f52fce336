// Queue pairs, their common state, and the notifications of the VMM.
#include "fabric_emul/vm/driver.h"

#include <cerrno>
#include <limits>

#include "fabric_emul/vm/driver_state.h"
#include "fabric_emul/vm/invalid.h"

namespace splitnic::fabric {
namespace {

// An implicit region begins at 0 and ends one byte before 2^64: no segment reaches that far.
constexpr std::uint64_t kSpaceBytes = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint8_t kSpaceRights = kLocalRead | kLocalWrite | kWindowBind;

}  // namespace

AdapterDriver::AdapterDriver(Adapter& adapter, Vmm& vmm, base::Clock& clock, PageTableForm form)
    : adapter_(adapter),
      vmm_(vmm),
      clock_(clock),
      pages_(form == PageTableForm::kPrivate ? static_cast<const PageTable&>(private_pages_)
                                             : vmm.page_table()) {}

AdapterDriver::~AdapterDriver() {
  while (!processes_.empty()) drop(processes_.begin()->first);
}

base::Result<Qpn> AdapterDriver::open_qp(ProcessId caller, const QpInit& init) {
  ++entries_;
  Common* common = find(caller);
  if (common == nullptr) {
    const auto made = make_common(caller);
    if (!made) return made.error().within("opening a queue pair");
    common = *made;
  }
  QpInit own = init;
  own.common.pd = common->pd;
  const auto qpn = adapter_.create_qp(own, clock_.now());
  if (!qpn) {
    if (common->qps.empty()) drop(caller);
    return qpn.error().within("opening a queue pair");
  }
  common->qps[*qpn] = {caller, init.common.send_depth, init.common.receive_depth, init.service,
                       init.accepts_rdma};
  return *qpn;
}

base::Status AdapterDriver::close_qp(ProcessId caller, Qpn qpn) {
  ++entries_;
  Common* const common = find(caller);
  if (common == nullptr || common->qps.erase(qpn) == 0) {
    return invalid("closing a queue pair: it is not the caller's");
  }
  adapter_.destroy_qp(qpn, clock_.now());
  if (common->qps.empty()) drop(caller);
  return {};
}

base::Result<AdapterDriver::Common*> AdapterDriver::make_common(ProcessId process) {
  const std::optional<ProcessKind> kind = vmm_.kind_of(process);
  if (!kind) return invalid("there is no such process");
  UnmappedSink& sink = *this;
  VmmClient& client = *this;
  auto common = std::make_unique<Common>(process, pages_, vmm_, sink);
  common->pd = adapter_.alloc_pd();
  if (const auto made = make_regions(*common, *kind); !made) {
    adapter_.free_pd(common->pd);
    return made.error();
  }
  auto table = vmm_.register_driver(process, client);
  CHECK(table.has_value());
  common->segments = std::move(*table);
  return (processes_[process] = std::move(common)).get();
}

base::Status AdapterDriver::make_regions(Common& common, ProcessKind kind) {
  const auto make = [&](Translator& space) {
    return adapter_.memory().regions().register_space(common.pd, VirtualAddress(0), kSpaceBytes,
                                                      kSpaceRights, space);
  };
  const auto effective = make(common.effective);
  if (!effective) return effective.error();
  common.effective_key = *effective;
  if (kind == ProcessKind::kUser) return {};
  const auto virtual_key = make(common.virtual_space);
  if (!virtual_key) return virtual_key.error();
  common.virtual_key = *virtual_key;
  return {};
}

void AdapterDriver::drop(ProcessId process) {
  const auto found = processes_.find(process);
  Common& common = *found->second;
  for (const auto& [qpn, record] : common.qps) adapter_.destroy_qp(qpn, clock_.now());
  adapter_.free_pd(common.pd);
  vmm_.unregister_driver(process, *this);
  processes_.erase(found);
  // The VMM reports no more pages that move or end, so none that is kept here would stay right.
  if (processes_.empty()) private_pages_.clear();
}

void AdapterDriver::segment_table_update(ProcessId process, SegmentPointer segment,
                                         const SegmentEntry& entry) {
  ++entries_;
  Common* const common = find(process);
  if (common == nullptr) return;
  if (entry.is_valid)
    common->segments.set(segment, entry);
  else
    common->segments.erase(segment);
}

base::Result<VirtualAddress> AdapterDriver::map_local_page(ProcessId caller, LocalAddress address) {
  ++entries_;
  const Common* const common = find(caller);
  if (common == nullptr) return invalid("mapping a page: the caller has no queue pair");
  const auto at = virtual_of(*common, address);
  if (!at) return at.error().within("mapping a page");
  const auto entry = vmm_.map_page(page_of(*at));
  if (!entry) return entry.error();
  if (&pages_ == &private_pages_) private_pages_.set(page_of(*at), *entry);
  const auto* const effective = std::get_if<EffectiveAddress>(&address);
  return effective != nullptr ? VirtualAddress(effective->value) : *at;
}

base::Result<VirtualAddress> AdapterDriver::virtual_of(const Common& common,
                                                       LocalAddress address) const {
  if (const auto* const effective = std::get_if<EffectiveAddress>(&address)) {
    const auto at = common.segments.to_virtual(*effective);
    if (!at) return invalid("the caller has no memory there");
    return *at;
  }
  if (!common.virtual_key) return invalid("only effective addresses are for user processes");
  if (const auto* const at = std::get_if<VirtualAddress>(&address)) return *at;
  const PhysicalAddress physical = std::get<PhysicalAddress>(address);
  if (physical.value >> kSegmentShift != 0) return invalid("there is no such frame");
  const auto page = vmm_.page_in(page_of(physical));
  if (!page) return invalid("no page is in this frame");
  return address_in(*page, offset_in_page(physical.value));
}

void AdapterDriver::on_page_changed(VirtualPage page, const PageEntry& entry) {
  if (!private_pages_.find(page)) return;
  PageEntry own = entry;
  own.is_mapped = true;
  private_pages_.set(page, own);
}

void AdapterDriver::on_page_gone(VirtualPage page) { private_pages_.erase(page); }

void AdapterDriver::on_process_end(ProcessId process) { drop(process); }

void AdapterDriver::on_unmapped(const UnmappedAccess& access) noexcept {
  ++unmapped_;
  if (on_error_) on_error_(access);
}

AdapterDriver::Common* AdapterDriver::find(ProcessId process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() ? found->second.get() : nullptr;
}

std::optional<QpRecord> AdapterDriver::record(Qpn qpn) const {
  for (const auto& [process, common] : processes_) {
    if (const auto qp = common->qps.find(qpn); qp != common->qps.end()) return qp->second;
  }
  return std::nullopt;
}

}  // namespace splitnic::fabric
