// The entry that libFuzzer calls; SPLITNIC_FUZZ_TARGET is one of targets.h.
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  splitnic::fuzz::SPLITNIC_FUZZ_TARGET({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
