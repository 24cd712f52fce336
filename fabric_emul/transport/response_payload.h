// Places the payload of a response where its work request wants it. The word of a FetchOp crosses
// the wire in network byte order and lies in memory in ours. Thread: the data thread.
#pragma once

#include <array>
#include <cstring>

#include "base/endian.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/qp_context.h"
#include "fabric_emul/transport/send_wqe.h"

namespace splitnic::fabric {

// `offset` counts in the list of `w`. Returns false and changes nothing if the local memory
// refuses.
inline bool place_response_payload(const QpContext& context, const SendWqe& w, std::uint64_t offset,
                                   base::Bytes payload) {
  base::Bytes from = payload;
  std::array<std::byte, sizeof(std::uint64_t)> word;
  if (w.op == WrOp::kFetchOp) {
    const auto value = base::load_be<std::uint64_t>(payload.data());
    std::memcpy(word.data(), &value, word.size());
    from = word;
  }
  return scatter(context.mrwt, context.pd, w.gather.span(), offset, from).ok();
}

}  // namespace splitnic::fabric
