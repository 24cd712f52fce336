#include "fabric_emul/wire/partition.h"

#include <array>
#include <charconv>

namespace splitnic::fabric {

std::string text_of(PartitionKey key) {
  constexpr std::size_t kDigits = 4;
  std::array<char, kDigits> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), key.value, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits.begin());
  return "0x" + std::string(kDigits - count, '0') + std::string(digits.data(), count);
}

}  // namespace splitnic::fabric
