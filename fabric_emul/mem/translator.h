// Translates the addresses of a region that is neither one span nor a list of pages: an address
// space with holes, whose tables somebody else keeps (fabric_emul/vm).
#pragma once

#include <cstdint>

#include "fabric_emul/mem/access.h"

namespace splitnic::fabric {

class Translator {
 public:
  virtual ~Translator() = default;
  // Where `address` lies and how many bytes follow each other from there, or the letter that
  // refuses the access. It must pass for all of [address, address + length); only the page of
  // `address` is brought in if it is out. REQUIRES length > 0 and no wrap. Called on the path.
  virtual AccessResult translate(VirtualAddress address, std::uint64_t length,
                                 AccessKind kind) noexcept = 0;
  // Whether the owner of the address space may let a peer use the range so: the check of a bind
  // [S000-06] [S000-21]. `rights` are those of the window.
  virtual bool may_bind(VirtualAddress address, std::uint64_t length,
                        std::uint8_t rights) const noexcept = 0;
};

}  // namespace splitnic::fabric
