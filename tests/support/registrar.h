// Posts of registrations through the send queue, and pages to register.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "base/check.h"
#include "base/endian.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

// A queue pair that registers through its send queue.
inline QpInit registering(FailureOption option = FailureOption::kReactive,
                          Service service = Service::kRc) {
  QpInit init;
  init.service = service;
  init.registers_in_queue = true;
  init.failure_option = option;
  return init;
}

// Memory that is not registered.
struct Pages {
  static constexpr std::size_t kBytes = 4096;
  explicit Pages(std::size_t count, std::size_t seed = 0) : store(count) {
    for (Page& page : store) list.push_back(page.bytes.data());
    for (std::size_t i = 0; seed != 0 && i < count * kBytes; ++i) at(i) = pattern(seed, i);
  }
  std::byte& at(std::size_t offset) { return store[offset / kBytes].bytes[offset % kBytes]; }
  NewRegion region(std::uint8_t rights = kAccessRights) const {
    NewRegion out;
    out.pages.pages = list;
    out.pages.length = list.size() * kBytes;
    out.rights = rights;
    return out;
  }
  struct alignas(kBytes) Page {
    std::array<std::byte, kBytes> bytes{};
  };
  std::vector<Page> store;
  std::vector<std::byte*> list;
};

inline NewRegion span_region(std::vector<std::byte>& memory, std::uint8_t rights = kAccessRights) {
  NewRegion out;
  out.memory = memory;
  out.rights = rights;
  return out;
}

inline base::Result<MemoryHandle> post_register(End& end, Qpn qpn, const NewRegion& region,
                                                std::uint64_t wr_id = 0) {
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = WrOp::kRegister;
  return end.adapter->post_register(qpn, wr, region);
}
inline base::Result<MemoryHandle> post_register_send(End& end, Qpn qpn, const NewRegion& region,
                                                     std::vector<Sge> gather,
                                                     std::uint32_t region_at,
                                                     std::uint64_t wr_id = 0) {
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = WrOp::kRegisterSend;
  wr.gather = gather;
  wr.region_at = region_at;
  return end.adapter->post_register(qpn, wr, region);
}

// A piece of a region that is not made yet.
inline Sge piece_of(End& end, MemoryHandle key, std::uint32_t length, std::uint64_t offset = 0) {
  Sge sge;
  sge.address = VirtualAddress(end.adapter->memory().start_of(key).value + offset);
  sge.length = length;
  sge.lkey = key;
  return sge;
}

// Completions, in order.
inline std::vector<WcStatus> statuses(const std::vector<Wc>& wcs) {
  std::vector<WcStatus> out;
  for (const Wc& wc : wcs) out.push_back(wc.status);
  return out;
}
inline std::vector<std::uint64_t> wr_ids(const std::vector<Wc>& wcs) {
  std::vector<std::uint64_t> out;
  for (const Wc& wc : wcs) out.push_back(wc.wr_id);
  return out;
}

// Two ends whose tables have room for a number of ATT pages; end b registers.
class QueueRegistration : public ::testing::Test {
 protected:
  explicit QueueRegistration(std::size_t att_pages = 3) : pair_(options(att_pages)) {}
  static PairOptions options(std::size_t att_pages) {
    PairOptions options;
    options.limits.att_pages = att_pages;
    return options;
  }
  Mrwt& table() { return pair_.b().adapter->memory(); }
  bool completes(std::size_t count) {
    return pair_.run_until([&] { return pair_.b().sent.size() >= count; });
  }
  AccessResult use(MemoryHandle key) {
    return table().access(key, table().start_of(key), 1, AccessKind::kLocalRead, pair_.b().pd, {});
  }

  AdapterPair pair_;
  Memory& inbox_ = pair_.a().memory(8192);
  Memory& target_ = pair_.a().memory(8192);
};

}  // namespace splitnic::fabric::testing
