// One printable line per cell, flit or INIT, for traces and test failures. Not for the data path.
#pragma once

#include <string>

#include "base/bytes.h"

namespace splitnic::fabric {

// "RC RDMA_WRITE only 1:000010 > 2:000011 psn 256 csn 0 ..." or "bad cell: crc, 64 bytes".
std::string dump_cell(base::Bytes cell, bool crc_head_only = false);
// The flit at the start of `at`, with its cell if it holds a whole one, or its INIT.
std::string dump_flit(base::Bytes at);

}  // namespace splitnic::fabric
