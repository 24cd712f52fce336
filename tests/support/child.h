// Runs a function in a child process: what it does to its process ends with it. The parent must
// have one thread only if the function needs locks that other threads may hold.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace splitnic::support {

// Waits for the end of a child. Returns its exit status, or 100 and the signal that ended it.
inline int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

// Returns what `function` returns (0 to 99), or as status_of().
template <typename Function>
int in_child(Function function) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(function());
  return status_of(child);
}

}  // namespace splitnic::support
