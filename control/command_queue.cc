#include "control/command_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace splitnic::control {

CommandQueue::CommandQueue(std::size_t capacity)
    : capacity_(capacity), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_.valid()) {
    throw std::system_error(errno, std::generic_category(), "making a queue of commands");
  }
  waiting_.reserve(capacity);
  running_.reserve(capacity);
}

bool CommandQueue::post(Command command) {
  const std::lock_guard lock(mutex_);
  if (closed_ || waiting_.size() >= capacity_) return false;
  waiting_.push_back(std::move(command));
  has_waiting_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  // Can only fail when the counter would overflow, and then the fd is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof(one));
  return true;
}

std::size_t CommandQueue::run() {
  if (!has_waiting_.load(std::memory_order_acquire)) return 0;
  {
    const std::lock_guard lock(mutex_);
    has_waiting_.store(false, std::memory_order_relaxed);
    std::uint64_t count = 0;  // reading clears it; nothing to read is no error
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof(count));
    std::swap(waiting_, running_);
  }
  for (Command& command : running_) command();
  const std::size_t ran = running_.size();
  running_.clear();
  return ran;
}

void CommandQueue::close() {
  std::vector<Command> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::swap(waiting_, dropped);
}

}  // namespace splitnic::control
