// The agreement of an end and the target, as their CONNECT messages and BufferRecvPool state it.
#pragma once

#include <cstddef>
#include <vector>

#include "messaging/wire/buffer_recv_pool.h"

namespace splitnic::conformance {

struct Agreed {
  std::size_t message_max = 0;  // on channel 0: the longest that both sides take
  // Whether writes to the target have idata: of form A. Otherwise a message indicates them.
  bool writes_idata = false;
  bool reads_idata = false;                    // the same of writes of the target
  std::vector<messaging::PoolRecord> pools{};  // of the target
};

}  // namespace splitnic::conformance
