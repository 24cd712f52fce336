#include "messaging/channel_queue_pair.h"

#include <string>

#include "base/check.h"

namespace splitnic::messaging {

ChannelQueuePair::~ChannelQueuePair() { CHECK(!is_open_); }

base::Status ChannelQueuePair::open(fabric::QpInit init, base::Time now) {
  const auto send_cq = adapter_.create_cq(init.common.send_depth + 1, init.common.memory);
  if (!send_cq) return send_cq.error();
  send_cq_ = *send_cq;
  init.common.send_cq = send_cq_;
  const auto qpn = adapter_.create_qp(init, now);
  if (!qpn) {
    adapter_.destroy_cq(send_cq_);
    return qpn.error();
  }
  qpn_ = *qpn;
  is_open_ = true;
  return adapter_.prepare_qp(qpn_);
}

void ChannelQueuePair::close(base::Time now) {
  if (!is_open_) return;
  is_open_ = false;
  adapter_.destroy_qp(qpn_, now);
  adapter_.destroy_cq(send_cq_);
}

base::Error ChannelQueuePair::error_of(fabric::WcStatus status) const {
  return base::Error("channel " + std::to_string(channel_) + ": " +
                     std::string(fabric::name(status)));
}

}  // namespace splitnic::messaging
