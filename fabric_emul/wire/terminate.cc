// Bytes of TERMINATE. docs/protocol/terminate.md
#include "fabric_emul/wire/terminate.h"

#include "base/endian.h"

namespace splitnic::fabric {

namespace {

bool is_known(TerminateCause cause) {
  switch (cause) {
    case TerminateCause::kLocalCatastrophic:
    case TerminateCause::kInvalidTag:
    case TerminateCause::kBounds:
    case TerminateCause::kAccess:
    case TerminateCause::kProtectionDomain:
    case TerminateCause::kWrap:
    case TerminateCause::kUnexpectedOp:
    case TerminateCause::kStreamError:
    case TerminateCause::kReadQueueFull:
    case TerminateCause::kMsnRange:
    case TerminateCause::kTooLong:
      return true;
  }
  return false;
}

}  // namespace

std::optional<Terminate> Terminate::parse(base::Bytes in) {
  if (in.size() != kTerminateBytes) return std::nullopt;
  const auto t0 = base::load_be<std::uint32_t>(in.data());
  Terminate out;
  out.cause = static_cast<TerminateCause>(t0 >> 16);
  out.check = static_cast<char>((t0 >> 8) & 0xFF);
  if (!is_known(out.cause)) return std::nullopt;
  if (out.check != 0 && (out.check < 'a' || out.check > 'g')) return std::nullopt;
  out.handle = MemoryHandle(base::load_be<std::uint32_t>(in.data() + 4));
  out.address = VirtualAddress(base::load_be<std::uint64_t>(in.data() + 8));
  out.length = base::load_be<std::uint32_t>(in.data() + 16);
  out.offending = MacHeader::parse(in.data() + 20);
  return out;
}

void Terminate::emit(std::byte* at) const {
  base::store_be(at, (static_cast<std::uint32_t>(cause) << 16) |
                         (std::uint32_t{static_cast<unsigned char>(check)} << 8));
  base::store_be(at + 4, handle.value);
  base::store_be(at + 8, address.value);
  base::store_be(at + 16, length);
  offending.emit(at + 20);
}

static_assert(20 + kMacHeaderBytes == kTerminateBytes);

}  // namespace splitnic::fabric
