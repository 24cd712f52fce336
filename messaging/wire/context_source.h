// Chooses the Transaction Contexts of one connection: a counter, so that no two open requests share
// one. It never returns 0 (unsolicited) and never sets bit 63, which a flush of the
// receiver's pools adds.
#pragma once

#include <cstdint>

#include "messaging/wire/buffer_pool_flush.h"

namespace splitnic::messaging {

class ContextSource {
 public:
  // `start` is random, so that the contexts of an earlier connection are not reused soon.
  explicit ContextSource(std::uint64_t start) : last_(start) {}
  TransactionContext next() {
    do {
      last_ = (last_ + 1) & ~kFlushOfReceiversPools;
    } while (last_ == 0);
    return TransactionContext(last_);
  }

 private:
  std::uint64_t last_;
};

}  // namespace splitnic::messaging
