// Commands for a thread that polls file descriptors: others post them, it runs them. The queue is
// bounded: when full it refuses and never waits. The control thread reaches the data thread by it;
// replies return by the mailbox of control/socket/mailbox.h. Thread: post() from any; fd() is
// polled and run() is called by the one thread that owns what commands touch.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "base/unique_fd.h"

namespace splitnic::control {

class CommandQueue {
 public:
  using Command = std::function<void()>;

  // Throws std::system_error if the process may have no further descriptor.
  explicit CommandQueue(std::size_t capacity = 256);
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  // False if the queue is full or closed: the command is destroyed, not run.
  [[nodiscard]] bool post(Command command);
  // Readable while commands wait (an eventfd).
  int fd() const { return event_.get(); }
  // Runs the waiting commands in order and returns their number; a command posted meanwhile waits
  // for the next call. While none waits it takes no lock and no system call, so that a busy loop
  // may call it in each iteration.
  std::size_t run();
  // Destroys the waiting commands and refuses all later ones.
  void close();

 private:
  const std::size_t capacity_;
  base::UniqueFd event_;
  std::mutex mutex_;
  std::atomic<bool> has_waiting_ = false;  // written with mutex_ held
  std::vector<Command> waiting_;           // guarded by mutex_
  bool closed_ = false;                    // guarded by mutex_
  std::vector<Command> running_;           // of the owner of run(); kept for its memory
};

}  // namespace splitnic::control
