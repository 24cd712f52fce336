// Posts of RDMA reads and FetchOps.
#pragma once

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

// A queue pair that serves this many reads at a time.
inline QpInit reading(std::uint16_t at_a_time = 16) {
  QpInit init;
  init.common.max_dest_rd_atomic = at_a_time;
  return init;
}

// Reads as many bytes as the pieces hold, from `offset` of a region on.
inline base::Status post_read(End& end, Qpn qpn, std::vector<Sge> pieces, const Memory& from,
                              std::size_t offset = 0, std::uint64_t wr_id = 0) {
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = WrOp::kRdmaRead;
  wr.gather = pieces;
  wr.remote_address = from.at(offset);
  wr.remote_handle = from.handle;
  return end.adapter->post_send(qpn, wr);
}

inline base::Status post_fetch(End& end, Qpn qpn, const Memory& old, const AtomicExt& fetch,
                               VirtualAddress address, MemoryHandle handle, std::uint64_t wr_id = 0,
                               std::size_t old_at = 0) {
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = WrOp::kFetchOp;
  const std::vector<Sge> pieces{old.sge(old_at, 8)};
  wr.gather = pieces;
  wr.remote_address = address;
  wr.remote_handle = handle;
  wr.fetch_op = fetch;
  return end.adapter->post_send(qpn, wr);
}

// The word of a region at a multiple of 8.
inline std::uint64_t word_of(const Memory& memory, std::size_t offset = 0) {
  std::uint64_t value = 0;
  std::memcpy(&value, memory.bytes.data() + offset, sizeof(value));
  return value;
}
inline void set_word(Memory& memory, std::uint64_t value, std::size_t offset = 0) {
  std::memcpy(memory.bytes.data() + offset, &value, sizeof(value));
}

}  // namespace splitnic::fabric::testing
