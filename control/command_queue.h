// Commands for a thread that polls file descriptors: others post, it runs them. Bounded: a full
// queue refuses, it never waits. Used by the control thread to reach the data thread; answers go
// back by ControlThread::post. Thread: post() from any; fd() is polled and run() called by the one
// thread that owns what commands touch.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "base/unique_fd.h"

namespace splitnic::control {

class CommandQueue {
 public:
  using Command = std::function<void()>;

  explicit CommandQueue(std::size_t capacity = 256);
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  // False if the queue is full or closed: the command is destroyed, not run.
  [[nodiscard]] bool post(Command command);
  // Readable while commands wait (an eventfd).
  int fd() const { return event_.get(); }
  // Runs what waits, in order, and returns how many; a command posted meanwhile waits for the next
  // call.
  std::size_t run();
  // Refuses from now on and destroys what waits.
  void close();

 private:
  const std::size_t capacity_;
  base::UniqueFd event_;
  std::mutex mutex_;
  std::vector<Command> waiting_;  // guarded by mutex_
  bool closed_ = false;           // guarded by mutex_
  std::vector<Command> running_;  // of the owner of run(); kept for its memory
};

}  // namespace splitnic::control
