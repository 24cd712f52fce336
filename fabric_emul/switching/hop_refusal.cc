#include "fabric_emul/switching/hop_refusal.h"

#include <string_view>

namespace splitnic::fabric {
namespace {

std::string_view remedy(InitReason reason) {
  switch (reason) {
    case InitReason::kVersion:
      return ": use the same release of splitnic at both ends";
    case InitReason::kMcp:
      return ": its path must allow cells of 256 bytes";
    case InitReason::kIdentity:
      return ": its topology file has something else at that port";
    case InitReason::kBusy:
      return ": another node is at that port, or was less than a minute ago";
    case InitReason::kDuplicate:
      return ": another program of our identity is at that port: give one of them another --name";
    default:
      return "";
  }
}

}  // namespace

std::string hop_refusal(const std::string& peer, InitReason reason) {
  return peer + " refuses the link: " + std::string(name(reason)) + std::string(remedy(reason));
}

}  // namespace splitnic::fabric
