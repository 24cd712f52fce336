// A long RDMA write of end b over a path that loses cells: it arrives whole.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

inline void expect_write_through_loss(AdapterPair& pair) {
  constexpr std::size_t kBytes = 500'000;
  FaultConfig faults;
  faults.loss_ppm = 20'000;
  pair.a().faults.set_config(faults);
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(kBytes);
  Memory& from = pair.b().memory(kBytes, 3);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropCrc), 0U);
}

}  // namespace splitnic::fabric::testing
