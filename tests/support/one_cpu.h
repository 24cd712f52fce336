// Keeps the calling thread on one CPU, as long as this lives.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

namespace splitnic::support {

class OneCpu {
 public:
  explicit OneCpu(int cpu = ::sched_getcpu()) {
    EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OneCpu() { EXPECT_EQ(::sched_setaffinity(0, sizeof before_, &before_), 0); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace splitnic::support
