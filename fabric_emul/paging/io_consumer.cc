#include "fabric_emul/paging/io_consumer.h"

#include <algorithm>
#include <utility>

namespace splitnic::fabric {

base::Status IoConsumer::submit(MemoryHandle region, std::uint64_t id, IoCount ios) {
  const RegionIo one{region, ios};
  return submit({&one, 1}, id);
}

base::Status IoConsumer::submit(std::span<const RegionIo> regions, std::uint64_t id) {
  if (!std::ranges::all_of(regions,
                           [&](const RegionIo& io) { return words_.contains(io.region); })) {
    return base::Error("an I/O request: a region that was not added");
  }
  if (queue_.empty() && begin(regions)) {
    issuer_.issue(id);
    return {};
  }
  if (queue_.size() == queued_max_) return base::Error("an I/O request: the queue is full");
  const std::uint64_t number = ++submitted_;
  queue_.push_back({id, {regions.begin(), regions.end()}, number});
  const auto issued = issue_queued();
  if (issued) return {};
  // It may have been issued, and the error be that of a request which came from within.
  const auto removed =
      std::erase_if(queue_, [&](const Request& request) { return request.number == number; });
  return removed > 0 ? issued : base::Status();
}

base::Status IoConsumer::finish(MemoryHandle region) {
  if (!words_.contains(region))
    return base::Error("the end of an I/O: a region that was not added");
  return word_of(region).end() ? arbitrator_.quiesced(region) : base::Status();
}

void IoConsumer::on_awake(MemoryHandle /*region*/) { static_cast<void>(issue_queued()); }

std::uint32_t IoConsumer::outstanding() const {
  std::uint32_t sum = 0;
  for (const auto& [region, word] : words_) sum += CurrentIo(*word).count();
  return sum;
}

// Counts the I/Os in every region, or in none.
bool IoConsumer::begin(std::span<const RegionIo> regions) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (word_of(regions[i].region).begin(regions[i].ios.total())) continue;
    for (const RegionIo& counted : regions.first(i)) {
      for (std::uint32_t n = 0; n < counted.ios.total(); ++n) {
        static_cast<void>(finish(counted.region));
      }
    }
    return false;
  }
  return true;
}

base::Status IoConsumer::issue_queued() {
  if (is_issuing_) return {};
  is_issuing_ = true;
  base::Result<bool> came_in = true;
  while (came_in && *came_in && !queue_.empty()) {
    if (begin(queue_.front().regions)) {
      const std::uint64_t id = queue_.front().id;
      queue_.pop_front();
      issuer_.issue(id);
    } else {
      came_in = ask_for(queue_.front().regions);
    }
  }
  is_issuing_ = false;
  return came_in ? base::Status() : came_in.error();
}

// Returns true if one of the regions is no longer to be quiescent.
base::Result<bool> IoConsumer::ask_for(std::span<const RegionIo> regions) {
  bool came_in = false;
  for (const RegionIo& io : regions) {
    if (!word_of(io.region).is_quiescing()) continue;
    if (const auto asked = arbitrator_.interest(io.region); !asked) return asked.error();
    came_in |= !word_of(io.region).is_quiescing();
  }
  return came_in;
}

}  // namespace splitnic::fabric
