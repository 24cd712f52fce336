// Translation of an implicit region: the effective addresses of a process, or the virtual
// addresses of the node for a kernel process. A page that is mapped and out is brought in
// [S000-31]. Every page of an access is looked up before its first byte is given.
#pragma once

#include "fabric_emul/mem/translator.h"
#include "fabric_emul/vm/translation.h"
#include "fabric_emul/vm/vmm.h"

namespace splitnic::fabric {

// An access to an address that MapLocalPage was not asked for [S000-24].
struct UnmappedAccess {
  ProcessId process;  // whose address space it was
  VirtualAddress address;
  AccessKind kind{};
};
class UnmappedSink {
 public:
  virtual ~UnmappedSink() = default;
  virtual void on_unmapped(const UnmappedAccess& access) noexcept = 0;
};

class AddressSpace final : public Translator {
 public:
  // `segments` nullptr: addresses are virtual. All outlive this.
  AddressSpace(ProcessId process, const SegmentTable* segments, const PageTable& pages, Vmm& vmm,
               UnmappedSink& sink)
      : process_(process), segments_(segments), pages_(pages), vmm_(vmm), sink_(sink) {}

  AccessResult translate(VirtualAddress address, std::uint64_t length,
                         AccessKind kind) noexcept override;
  // Virtual addresses are those of kernel processes, which may bind all of them.
  bool may_bind(VirtualAddress address, std::uint64_t length,
                std::uint8_t rights) const noexcept override;

 private:
  Translation look_up(std::uint64_t address, std::uint8_t protection) const noexcept;
  AccessResult refuse(const Translation& found, AccessKind kind) noexcept;

  ProcessId process_;
  const SegmentTable* segments_;
  const PageTable& pages_;
  Vmm& vmm_;
  UnmappedSink& sink_;
};

}  // namespace splitnic::fabric
