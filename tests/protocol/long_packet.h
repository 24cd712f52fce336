// One RDMA write of end 1 with many short cells, and the headers of the cells in datagrams.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

struct LongPacket {
  static constexpr std::uint16_t kMcp = 64;

  LongPacket(std::uint64_t cells, const QpInit& init)
      : pair(options()),
        qp(pair.connect(init)),
        to(pair.a().memory(kMcp * cells)),
        from(pair.b().memory(kMcp * cells, 2)) {}
  static PairOptions options() {
    PairOptions out;
    out.mcp = kMcp;
    return out;
  }
  // The header of the cell in a datagram, if there is one.
  static std::optional<MacHeader> header_of(base::Bytes datagram) {
    if (datagram.size() < kFlitHeaderBytes + kCellBytesMin) return std::nullopt;
    return MacHeader::parse(datagram.data() + kFlitHeaderBytes);
  }
  void post(std::uint64_t wr_id) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, wr_id));
  }
  void expect_done(std::size_t count) {
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == count; }));
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(pair.b().sent[i].status, WcStatus::kSuccess) << i;
      EXPECT_EQ(pair.b().sent[i].wr_id, i);
    }
    EXPECT_EQ(to.bytes, from.bytes);
  }

  AdapterPair pair;
  QpPair qp;
  Memory& to;
  Memory& from;
};

}  // namespace splitnic::fabric::testing
