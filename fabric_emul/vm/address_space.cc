#include "fabric_emul/vm/address_space.h"

#include <algorithm>
#include <limits>

namespace splitnic::fabric {
namespace {

constexpr std::uint8_t protection_for(AccessKind kind) {
  return kind == AccessKind::kLocalRead || kind == AccessKind::kRemoteRead ? kPageRead : kPageWrite;
}

std::uint64_t bytes_to_page_end(std::uint64_t address) {
  return kVmPageBytes - offset_in_page(address);
}

}  // namespace

Translation AddressSpace::look_up(std::uint64_t address, std::uint8_t protection) const noexcept {
  if (segments_ == nullptr) {
    return fabric::translate(pages_, VirtualAddress(address), protection);
  }
  return fabric::translate(*segments_, pages_, EffectiveAddress(address), protection);
}

AccessResult AddressSpace::refuse(const Translation& found, AccessKind kind) noexcept {
  if (found.fault == TranslationFault::kProtection) return {nullptr, AccessCheck::kF};
  if (found.fault == TranslationFault::kUnmapped) {
    sink_.on_unmapped({process_, found.address, kind});
  }
  return {nullptr, AccessCheck::kA};
}

AccessResult AddressSpace::translate(VirtualAddress address, std::uint64_t length,
                                     AccessKind kind) noexcept {
  const std::uint8_t protection = protection_for(kind);
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t at = address.value + done;
    const Translation page = look_up(at, protection);
    if (page.fault != TranslationFault::kNone && page.fault != TranslationFault::kOut) {
      return refuse(page, kind);
    }
    done += std::min(length - done, bytes_to_page_end(at));
  }

  Translation first = look_up(address.value, protection);
  if (first.fault == TranslationFault::kOut) {
    if (!vmm_.bring_in(page_of(first.address))) return {nullptr, AccessCheck::kA};
    first = look_up(address.value, protection);
  }
  const std::uint64_t most =
      std::min<std::uint64_t>(length, std::numeric_limits<std::uint32_t>::max());
  std::uint64_t run = std::min(most, bytes_to_page_end(address.value));
  while (run < most) {
    const Translation next = look_up(address.value + run, protection);
    if (next.fault != TranslationFault::kNone || next.at.value != first.at.value + run) break;
    run += std::min(most - run, kVmPageBytes);
  }
  return {vmm_.at(first.at), AccessCheck::kA, static_cast<std::uint32_t>(run)};
}

bool AddressSpace::may_bind(VirtualAddress address, std::uint64_t length,
                            std::uint8_t rights) const noexcept {
  if (segments_ == nullptr) return true;
  unsigned protection = 0;
  if ((rights & kRemoteRead) != 0) protection |= kPageRead;
  if ((rights & kRemoteWrite) != 0) protection |= kPageWrite;
  return segments_->allows(EffectiveAddress(address.value), length,
                           static_cast<std::uint8_t>(protection));
}

}  // namespace splitnic::fabric
