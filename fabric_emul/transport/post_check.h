// Checks that a send queue takes a work request: the operations that its service has, and their
// form. Pure.
// docs/protocol/transport.md docs/protocol/cell.md#operations
#pragma once

#include <cstdint>

#include "base/status.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/work_request.h"

namespace splitnic::fabric {

// `bytes`: of the gather list. Refused: an operation or a form of it that the service or the peer
// does not have, a connectionless post without destination or longer than one cell [S001-32]
// [S001-34].
base::Status check_post(const QpContext& context, const SendWr& wr, std::uint64_t bytes);

}  // namespace splitnic::fabric
