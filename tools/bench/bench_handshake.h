// The handshake of the two ends of `splitnic bench`, in the private data of their connection: the
// operation to measure and its service, the memory that each end offers to the other, and of RD its
// queue pairs, because the connection describes their end-to-end context alone. Bytes, all
// big-endian:
//   [magic 4][op 1][flags 1: 1 go-back-N][service 1][n 1][bytes 4][handle 4][start 8]
//   [queue pair 4] n times: of RD 1 to 64, of the others none
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/verbs/verbs.h"
#include "tools/bench/bench_service.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

struct Handshake {
  static constexpr std::size_t kFixedBytes = 24;
  static constexpr std::uint32_t kMagic = 0x534E4232;  // "SNB2"

  Op op = Op::kWrite;
  fabric::Service service = fabric::Service::kRc;
  bool goes_back_n = false;
  std::uint32_t bytes = 0;
  std::uint32_t handle = 0;
  std::uint64_t start = 0;
  std::vector<fabric::Qpn> queue_pairs;  // RD: those of the sender
  // RC: the queue pairs span links. Not of these bytes: CONNECT has it (fabric::kPairLinks).
  bool spans_links = false;

  std::vector<std::byte> emit() const;
  // Returns nothing if a peer of this version does not send such bytes.
  static std::optional<Handshake> parse(base::Bytes in);
  // Whether both describe the same measurement.
  bool is_of_run(const Handshake& other) const {
    return op == other.op && service == other.service && goes_back_n == other.goes_back_n &&
           bytes == other.bytes && queue_pairs.size() == other.queue_pairs.size();
  }
};
static_assert(Handshake::kFixedBytes + 4 * kQueuePairsMax <= fabric::kMgmtPrivateBytesMax);

}  // namespace splitnic::bench
