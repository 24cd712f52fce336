// Random operations on the table against a plain model: each must pass exactly when the model does
// so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/wide.h"
#include "fabric_emul/mem/mrwt.h"
#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric {
namespace mrwt_model_test {

using namespace mrwt_fixture;

class MrwtModelTest : public MrwtTest {
 protected:
  struct Entry {
    bool is_window;
    std::uint64_t start;
    std::uint64_t length;
    std::uint8_t rights;
    PdId pd;
    MemoryHandle parent;
  };

  MemoryHandle pick() { return known_[dice_.below(known_.size())]; }
  PdId any_pd() { return dice_.below(4) == 0 ? kOtherPd : kPd; }
  bool is_full() const { return live_.size() == table_.entries_max(); }

  void add(MemoryHandle handle, const Entry& entry) {
    ASSERT_EQ(std::count(known_.begin(), known_.end(), handle), 0) << "a handle came twice";
    known_.push_back(handle);
    live_.insert({handle, entry});
  }

  void register_one() {
    const PdId pd = any_pd();
    const auto rights = static_cast<std::uint8_t>(dice_.below(32));
    const auto handle = table_.regions().register_region(pd, memory(), rights, kStart);
    ASSERT_EQ(handle.has_value(), !is_full());
    if (handle) add(*handle, {false, kStart.value, kLength, rights, pd, {}});
  }

  void bind_one() {
    const MemoryHandle region = pick();
    const PdId pd = any_pd();
    const auto rights = static_cast<std::uint8_t>(dice_.below(16));
    const std::uint64_t offset = dice_.below(kLength);
    const std::uint64_t length = 1 + dice_.below(kLength - offset);
    const auto handle =
        table_.windows().bind_window(pd, region, kStart + offset, length, rights, Qpn{});
    const auto parent = live_.find(region);
    ASSERT_EQ(handle.has_value(), parent != live_.end() && !parent->second.is_window &&
                                      parent->second.pd == pd &&
                                      (parent->second.rights & kWindowBind) != 0 && !is_full());
    if (handle) add(*handle, {true, kStart.value + offset, length, rights, pd, region});
  }

  void end_one() {
    const MemoryHandle handle = pick();
    const auto entry = live_.find(handle);
    if (entry == live_.end()) {
      ASSERT_FALSE(table_.regions().deregister(handle));
      ASSERT_FALSE(table_.windows().unbind(handle));
      return;
    }
    const bool has_windows = std::any_of(live_.begin(), live_.end(), [&](const auto& other) {
      return other.second.is_window && other.second.parent == handle;
    });
    const base::Status ended = entry->second.is_window ? table_.windows().unbind(handle)
                                                       : table_.regions().deregister(handle);
    ASSERT_EQ(ended.has_value(), !has_windows);
    if (ended) live_.erase(entry);
  }

  void access_one() {
    const MemoryHandle handle = pick();
    const PdId pd = any_pd();
    const auto kind = static_cast<AccessKind>(dice_.below(kAccessKinds));
    const std::uint64_t address = kStart.value - 4 + dice_.below(kLength + 8);
    const std::uint64_t length = dice_.below(64) == 0 ? dice_.next() : dice_.below(kLength);
    const AccessResult result =
        table_.access(handle, VirtualAddress(address), length, kind, pd, kQp);
    const auto entry = live_.find(handle);
    const base::Wide end = static_cast<base::Wide>(address) + length;
    const bool expected = entry != live_.end() && entry->second.pd == pd &&
                          !(entry->second.is_window && !is_remote(kind)) &&
                          address >= entry->second.start &&
                          end <= entry->second.start + entry->second.length &&
                          (entry->second.rights & right_for(kind)) != 0;
    ASSERT_EQ(result.ok(), expected);
    if (!expected) return;
    ++passed_;
    ASSERT_EQ(result.at, memory().data() + (address - kStart.value));
  }

  std::map<MemoryHandle, Entry> live_;
  std::vector<MemoryHandle> known_;
  base::SeededRandom dice_{99};
  std::size_t passed_ = 0;
};

TEST_F(MrwtModelTest, random_operations_agree_with_the_model) {
  register_one();
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t what = dice_.below(1000);
    if (what < 10) {
      register_one();
    } else if (what < 20) {
      bind_one();
    } else if (what < 60) {
      end_one();
    } else {
      access_one();
    }
    ASSERT_FALSE(HasFatalFailure()) << "step " << step;
    ASSERT_EQ(table_.live_count(), live_.size());
  }
  EXPECT_GT(passed_, 100U) << "the model must see both outcomes";
}

}  // namespace mrwt_model_test
}  // namespace splitnic::fabric
