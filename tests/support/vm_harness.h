// A node with processes: an adapter's driver, a memory manager and an arena of few frames.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric_emul/vm/driver.h"

namespace splitnic::fabric::testing {

// Both back ends of translation [S000-30].
inline constexpr PageTableForm kForms[] = {PageTableForm::kPrivate, PageTableForm::kShared};
struct FormName {
  template <typename Param>
  std::string operator()(const Param& one) const {
    return one.param == PageTableForm::kPrivate ? "private_table" : "shared_table";
  }
};

constexpr EffectiveAddress operator+(EffectiveAddress a, std::uint64_t n) {
  return EffectiveAddress(a.value + n);
}

class VmNode {
 public:
  static constexpr std::size_t kFrames = 64;

  VmNode(Adapter& adapter, base::Clock& clock, PageTableForm form)
      : driver(adapter, vmm, clock, form), adapter_(adapter) {
    init.common.send_cq = adapter.create_cq(1024).value();
    init.common.recv_cq = adapter.create_cq(1024).value();
    init.common.max_dest_rd_atomic = 4;
  }

  // A process with a queue pair, that stays open.
  ProcessId process(ProcessKind kind = ProcessKind::kUser) {
    const ProcessId id = vmm.create_process(kind);
    CHECK(driver.open_qp(id, init).has_value());
    return id;
  }
  // Memory that holds a pattern; `mapped` of its pages are for the adapter.
  EffectiveAddress memory(ProcessId process, std::uint64_t pages, std::uint64_t mapped,
                          std::size_t seed, std::uint8_t protection = kPageProtections) {
    const EffectiveAddress at = vmm.add_segment(process, pages, protection).value();
    CHECK(vmm.store(process, at, pattern_of(seed, pages * kVmPageBytes)).has_value());
    for (std::uint64_t i = 0; i < mapped; ++i) {
      CHECK(driver.map_local_page(process, at + i * kVmPageBytes).has_value());
    }
    return at;
  }
  EffectiveAddress memory(ProcessId process, std::uint64_t pages, std::size_t seed = 1) {
    return memory(process, pages, pages, seed);
  }
  std::vector<std::byte> load(ProcessId process, EffectiveAddress at, std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    CHECK(vmm.load(process, at, out).has_value());
    return out;
  }
  static std::vector<std::byte> pattern_of(std::size_t seed, std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      out[i] = static_cast<std::byte>(i * 31 + i / kVmPageBytes * 7 + seed * 101 + 1);
    }
    return out;
  }
  MemoryHandle key(ProcessId process) { return driver.allocate_rkeys(process, 1).value()[0]; }
  // A key that both rights are bound to.
  MemoryHandle bound_key(ProcessId process, LocalAddress at, std::uint64_t length) {
    const MemoryHandle made = key(process);
    CHECK(driver.bind_rkey(process, made, {at, length, kRemoteRead | kRemoteWrite}).has_value());
    return made;
  }
  // The protection domain that queue pairs of the process are in.
  PdId domain(ProcessId process) {
    return adapter_.memory().entry(driver.effective_key(process).value())->pd;
  }

  std::unique_ptr<Arena> arena = Arena::make(kFrames, kOffsetBits).value();
  Vmm vmm{*arena};
  AdapterDriver driver;
  QpInit init;

 private:
  Adapter& adapter_;
};

}  // namespace splitnic::fabric::testing
