// A listener on shared memory to which the system gives no descriptor.
#include <sys/resource.h>
#include <unistd.h>

#include "shm_world.h"

namespace splitnic::fabric::shm_shortage_test {

using namespace shm_world;

class ShmShortageTest : public ShmTest {};

TEST_F(ShmShortageTest, F_52_a_client_is_refused_where_no_descriptor_is_left) {
  auto listener = open(true);
  auto connector = open(false);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  // UBSan opens a pipe where it looks at the type of an object that it has not just seen: this call
  // shows it the listener, and during the shortage nothing else is called.
  EXPECT_EQ(listener->clients(), 0U);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool has_received = look(*listener).has_value();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(has_received);
  EXPECT_FALSE(is_readable(*listener)) << "it would keep the data thread awake";
  EXPECT_EQ(listener->count(ShmCounter::kRefusedFull), 1U);
  EXPECT_FALSE(look(*connector));
  EXPECT_EQ(connector->send(ShmUnderlay::listener_address(), batch_of(9, 1), 9), Status::kRefused);
  join(*listener, *connector);
  learn(*listener, *connector);
}

}  // namespace splitnic::fabric::shm_shortage_test
