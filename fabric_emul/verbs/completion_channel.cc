#include "fabric_emul/verbs/completion_channel.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace splitnic::fabric {
namespace {

// More queues than these make the list allocate, once for each time that it doubles.
constexpr std::size_t kQueuesWithoutAllocation = 1024;

}  // namespace

base::Result<std::unique_ptr<CompletionChannel>> CompletionChannel::open() {
  base::UniqueFd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.valid()) return base::Error::from_errno("making a completion channel", errno);
  return std::unique_ptr<CompletionChannel>(new CompletionChannel(std::move(event)));
}

CompletionChannel::CompletionChannel(base::UniqueFd event) : event_(std::move(event)) {
  fired_.reserve(kQueuesWithoutAllocation);
  cleared_.reserve(kQueuesWithoutAllocation);
}

// A queue that is armed once more before clear() may fire twice.
void CompletionChannel::on_completion(CqId cq) {
  if (std::ranges::find(fired_, cq) != fired_.end()) return;
  if (fired_.empty()) ::eventfd_write(event_.get(), 1);
  fired_.push_back(cq);
}

std::span<const CqId> CompletionChannel::clear() {
  eventfd_t count = 0;
  if (!fired_.empty()) ::eventfd_read(event_.get(), &count);
  cleared_.clear();
  std::swap(fired_, cleared_);
  return cleared_;
}

}  // namespace splitnic::fabric
