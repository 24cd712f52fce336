// Tests which entries are collected, and which never are.
#include "fabric_emul/regcache/registration_gc.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/regcache/registration_fixture.h"

namespace splitnic::fabric {
namespace registration_gc_test {

using namespace registration_fixture;
using namespace std::chrono_literals;
using fabric::MemoryHandle;

class RegistrationGcTest : public RegistrationTest {
 protected:
  static constexpr OwnerId kClient{100};
  static constexpr OwnerId kOtherClient{101};

  std::size_t collect_after(RegistrationGc& gc, base::Duration span) {
    clock_.advance(span);
    return gc.poll(clock_.now());
  }
  MemoryHandle get_of(OwnerId owner, std::size_t page) {
    return get(at(page * kPage, kPage), kReadWrite, kPd, owner);
  }
  RegistrationGc make_gc(const GcConfig& config) {
    return {cache_, [this](OwnerId owner) { return ++asked_, owner != dead_; }, config};
  }

  OwnerId dead_;
  int asked_ = 0;
};

TEST_F(RegistrationGcTest, S003_06_entries_of_a_client_that_is_gone_vanish) {
  RegistrationGc gc = make_gc({});
  const MemoryHandle first = get_of(kClient, 0);
  put(get_of(kClient, 2));
  const MemoryHandle other = get_of(kOtherClient, 4);
  const MemoryHandle own = get_of(OwnerId{}, 6);
  put(first);
  put(other);
  put(own);
  EXPECT_EQ(collect_after(gc, 1s), 0U);
  EXPECT_EQ(asked_, 2) << "once for each owner, never for the module itself";
  dead_ = kClient;
  EXPECT_EQ(collect_after(gc, 1s), 2U);
  EXPECT_EQ(cache_.size(), 2U);
  EXPECT_EQ(get_of(kOtherClient, 4), other);
  EXPECT_EQ(get_of(OwnerId{}, 6), own);
  EXPECT_EQ(count(RegCounter::kCollected), 2U);
}

TEST_F(RegistrationGcTest, S003_06_an_entry_in_use_ends_with_its_user_even_if_its_owner_is_gone) {
  RegistrationGc gc = make_gc({});
  const MemoryHandle used = get_of(kClient, 0);
  dead_ = kClient;
  collect_after(gc, 1s);
  EXPECT_EQ(reach(used, at(0, kPage)), '\0');
  EXPECT_NE(get_of(kClient, 0), used) << "a new process with the same number";
  put(used);
  EXPECT_NE(reach(used, at(0, kPage)), '\0');
}

TEST_F(RegistrationGcTest, S003_06_an_entry_idle_for_long_vanishes_and_one_in_use_never_does) {
  RegistrationGc gc = make_gc({.idle_max = 10s});
  collect_after(gc, 1s);
  const MemoryHandle used = get(at(0, kPage));
  get_put(at(4 * kPage, kPage));
  EXPECT_EQ(collect_after(gc, 9s), 0U);
  const MemoryHandle kept = get_put(at(8 * kPage, kPage));
  EXPECT_EQ(collect_after(gc, 1s), 1U);
  EXPECT_EQ(collect_after(gc, 8s), 0U);
  EXPECT_EQ(get_put(at(8 * kPage, kPage)), kept) << "used: its time restarts";
  EXPECT_EQ(collect_after(gc, 9s), 0U);
  EXPECT_EQ(collect_after(gc, 1s), 1U);
  EXPECT_EQ(collect_after(gc, 3600s), 0U);
  EXPECT_EQ(reach(used, at(0, kPage)), '\0');
  put(used);
  EXPECT_EQ(collect_after(gc, 1s), 1U);
  EXPECT_EQ(table_.live_count(), 0U);
}

TEST_F(RegistrationGcTest, S003_06_an_entry_used_too_seldom_vanishes_after_a_whole_period) {
  RegistrationGc gc = make_gc({.period = 1s, .idle_max = 3600s, .uses_min = 3});
  collect_after(gc, 1s);
  const MemoryHandle often = get_put(at(0, kPage));
  const MemoryHandle seldom = get_put(at(4 * kPage, kPage));
  EXPECT_EQ(collect_after(gc, 1s), 0U) << "they did not live through a whole period";
  for (int i = 0; i < 3; ++i) get_put(at(0, kPage));
  for (int i = 0; i < 2; ++i) get_put(at(4 * kPage, kPage));
  EXPECT_EQ(collect_after(gc, 1s), 1U);
  EXPECT_EQ(reach(often, at(0, kPage)), '\0');
  EXPECT_NE(reach(seldom, at(4 * kPage, kPage)), '\0');
}

TEST_F(RegistrationGcTest, X_24_it_collects_once_a_period) {
  RegistrationGc gc = make_gc({.period = 5s, .idle_max = 0s});
  gc.poll(clock_.now());
  EXPECT_EQ(gc.deadline(), clock_.now() + 5s);
  get_put(at(0, kPage));
  EXPECT_EQ(collect_after(gc, 4s), 0U);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(collect_after(gc, 1s), 1U);
  EXPECT_EQ(cache_.size(), 0U);
}

}  // namespace registration_gc_test
}  // namespace splitnic::fabric
