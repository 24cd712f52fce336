#include "fabric_emul/verbs/link_refusal.h"

#include <string_view>

namespace splitnic::fabric {
namespace {

std::string_view remedy(InitReason reason) {
  switch (reason) {
    case InitReason::kVersion:
      return ": use the same release of splitnic at both ends";
    case InitReason::kProfile:
      return ": --link-profile must be the same at both ends";
    case InitReason::kMcp:
      return ": its path, or --cell, must allow cells of 256 bytes";
    case InitReason::kBusy:
      return ": it has as many hosts as its --max-hosts admits";
    case InitReason::kDuplicate:
      return ": another program of our identity is connected to it: if this machine is a copy of "
             "another, or a second program here has this --name, give one of them another --name";
    default:
      return "";
  }
}

}  // namespace

std::string link_refusal(InitReason reason) {
  return std::string(name(reason)) + std::string(remedy(reason));
}

}  // namespace splitnic::fabric
