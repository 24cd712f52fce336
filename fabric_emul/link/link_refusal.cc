#include "fabric_emul/link/link_refusal.h"

#include <string_view>

namespace splitnic::fabric {
namespace {

std::string_view remedy(InitReason reason, bool is_at_switch) {
  switch (reason) {
    case InitReason::kVersion:
      return ": use the same release of splitnic at both ends";
    case InitReason::kProfile:
      return is_at_switch ? "" : ": --link-profile must be the same at both ends";
    case InitReason::kMcp:
      return is_at_switch ? ": its path must allow cells of 256 bytes"
                          : ": its path, or --cell, must allow cells of 256 bytes";
    case InitReason::kIdentity:
      return is_at_switch ? ": its topology file has something else at that port" : "";
    case InitReason::kBusy:
      return is_at_switch ? ": another node is at that port, or was less than a minute ago"
                          : ": it has as many hosts as its --max-hosts admits";
    case InitReason::kDuplicate:
      return is_at_switch ? ": another program of our identity is at that port: give one of them "
                            "another --name"
                          : ": another program of our identity is connected to it: if this machine "
                            "is a copy of another, or a second program here has this --name, give "
                            "one of them another --name";
    default:
      return "";
  }
}

}  // namespace

std::string link_refusal(InitReason reason, LinkEnds ends) {
  return std::string(name(reason)) + std::string(remedy(reason, ends == LinkEnds::kSwitch));
}

}  // namespace splitnic::fabric
