// State that the driver keeps per process, for all its queue pairs [S000-27].
#pragma once

#include "fabric_emul/vm/driver.h"

namespace splitnic::fabric {

struct AdapterDriver::Common {
  Common(ProcessId id, const PageTable& pages, Vmm& vmm, UnmappedSink& sink)
      : process(id),
        effective(id, &segments, pages, vmm, sink),
        virtual_space(id, nullptr, pages, vmm, sink) {}
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;

  ProcessId process;
  PdId pd;
  SegmentTable segments;
  AddressSpace effective;
  AddressSpace virtual_space;
  MemoryHandle effective_key;
  std::optional<MemoryHandle> virtual_key;  // kernel processes
  std::map<Qpn, QpRecord> qps;
};

}  // namespace splitnic::fabric
