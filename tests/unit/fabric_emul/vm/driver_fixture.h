// An adapter without ports, its driver and one user process, for the tests of the verbs.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/support/vm_harness.h"

namespace splitnic::fabric::testing {

class DriverTest : public ::testing::TestWithParam<PageTableForm> {
 protected:
  // The letter of a remote access to one process's domain, or '-'.
  char remote(ProcessId domain, MemoryHandle key, std::uint64_t address, std::uint64_t length,
              AccessKind kind = AccessKind::kRemoteWrite) {
    const AccessResult result = adapter.memory().access(key, VirtualAddress(address), length, kind,
                                                        node.domain(domain), Qpn(1));
    return result.ok() ? '-' : static_cast<char>(result.failed);
  }
  char remote(MemoryHandle key, EffectiveAddress address, std::uint64_t length) {
    return remote(user, key, address.value, length);
  }
  std::uint32_t windows_of(ProcessId process) {
    return adapter.memory().entry(driver.effective_key(process).value())->windows_bound;
  }
  template <typename T>
  static bool is_invalid(const T& result) {
    return !result.has_value() && result.error().errno_value() == EINVAL;
  }

  base::SeededRandom random{5};
  base::ManualClock clock;
  Adapter adapter{{.qps = 32, .memory_entries = 24}, random, true};
  VmNode node{adapter, clock, GetParam()};
  AdapterDriver& driver = node.driver;
  Vmm& vmm = node.vmm;
  ProcessId user = node.process();
  ProcessId other = node.process();
  ProcessId kernel = node.process(ProcessKind::kKernel);
};

}  // namespace splitnic::fabric::testing
