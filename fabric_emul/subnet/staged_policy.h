// The parts of a policy that a switch has: it comes into force as a whole, so a switch never mixes
// those of two files. Pure. Thread: the data thread. docs/protocol/subnet.md#policy
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_policy.h"

namespace splitnic::fabric {

class StagedPolicy {
 public:
  // Takes one. They come in whatever order, and each as often as it does; a part of another policy
  // replaces those before. kStale: all parts are there, and the check is wrong; none is kept.
  // REQUIRES data, as parse_smp_policy() returns them.
  SmpStatus take(const SmpPolicy& part);
  bool is_complete() const { return is_complete_; }
  // All of them. REQUIRES is_complete().
  base::Bytes bytes() const { return bytes_; }

 private:
  std::uint32_t check_ = 0;
  std::vector<std::byte> bytes_;
  std::bitset<policy_parts(kPolicyBytesMax)> has_;
  bool is_complete_ = false;
};

}  // namespace splitnic::fabric
