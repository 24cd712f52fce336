#include "fabric_emul/stream/stream_terminate.h"

#include <limits>

namespace splitnic::fabric {
namespace {

TerminateCause cause_of(AccessCheck check, const VaMh& range) {
  switch (check) {
    case AccessCheck::kA:
    case AccessCheck::kD:
      return TerminateCause::kInvalidTag;
    case AccessCheck::kC:
      return TerminateCause::kProtectionDomain;
    case AccessCheck::kE:
      break;
    case AccessCheck::kB:
    case AccessCheck::kF:
    case AccessCheck::kG:
      return TerminateCause::kAccess;
  }
  const bool wraps = range.length > std::numeric_limits<std::uint64_t>::max() - range.address.value;
  return wraps ? TerminateCause::kWrap : TerminateCause::kBounds;
}

}  // namespace

Terminate refused_access(const CellView& cell, const VaMh& range, AccessCheck check) {
  return {.cause = cause_of(check, range),
          .check = static_cast<char>(check),
          .handle = range.handle,
          .address = range.address,
          .length = range.length,
          .offending = cell.header};
}

Terminate refused_cell(const CellView& cell, TerminateCause cause) {
  const VaMh range = cell.va_mh.value_or(VaMh{});
  return {.cause = cause,
          .handle = range.handle,
          .address = range.address,
          .length = range.length,
          .offending = cell.header};
}

WcStatus status_of(const Terminate& terminate) {
  if (terminate.check != 0) return WcStatus::kRemoteAccess;
  return terminate.cause == TerminateCause::kLocalCatastrophic ? WcStatus::kRemoteOperational
                                                               : WcStatus::kRemoteInvalid;
}

}  // namespace splitnic::fabric
