#include "fabric_emul/paging/io_consumer.h"

namespace splitnic::fabric {

base::Status IoConsumer::submit(MemoryHandle region, std::uint64_t id, IoCount ios) {
  if (queue_.empty() && word_.begin(ios.total())) {
    issuer_.issue(id);
    return {};
  }
  if (queue_.size() == queued_max_) return base::Error("an I/O request: the queue is full");
  queue_.push_back({id, ios.total()});
  return arbitrator_.interest(region);
}

base::Status IoConsumer::finish(MemoryHandle region) {
  return word_.end() ? arbitrator_.quiesced(region) : base::Status();
}

void IoConsumer::on_awake(MemoryHandle /*region*/) {
  while (!queue_.empty() && word_.begin(queue_.front().ios)) {
    const std::uint64_t id = queue_.front().id;
    queue_.pop_front();
    issuer_.issue(id);
  }
}

}  // namespace splitnic::fabric
