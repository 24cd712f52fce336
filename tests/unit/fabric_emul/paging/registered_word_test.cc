// The current-I/O word that a registration names is the one that the arbitrator uses, and a region
// that nobody adopted stays pinned although it has one.
#include <gtest/gtest.h>

#include "fabric_emul/paging/io_consumer.h"
#include "fabric_emul/paging/swap_arbitrator.h"

namespace splitnic::fabric {
namespace registered_word_test {

using namespace std::chrono_literals;

class RegisteredWordTest : public testing::Test, protected SwapConsumer {
 protected:
  MemoryHandle region(std::atomic<std::uint32_t>* word) { return try_region(word).value(); }
  base::Result<MemoryHandle> try_region(std::atomic<std::uint32_t>* word,
                                        PageSource* source = nullptr) {
    const std::vector<std::byte*> pages{arena_->take()};
    return table_.regions().register_pages(PdId(1), {pages, 12, 0, 4096}, kAccessRights,
                                           {{}, {}, source, word});
  }
  void on_awake(MemoryHandle) override { ++woken_; }

  base::ManualClock clock_;
  base::SeededRandom random_{3};
  std::unique_ptr<Arena> arena_ = Arena::make(4, 12).value();
  Mrwt table_{8, random_};
  SwapArbitrator arbitrator_{table_, *arena_};
  int woken_ = 0;
};

TEST_F(RegisteredWordTest, S004_09_the_arbitrator_takes_the_word_from_the_registration) {
  std::atomic<std::uint32_t> word{1};  // one I/O is outstanding
  std::atomic<std::uint32_t> of_another{0};
  const MemoryHandle mine = region(&word);
  const MemoryHandle other = region(&of_another);
  ASSERT_TRUE(arbitrator_.adopt(mine, *this));
  ASSERT_TRUE(arbitrator_.adopt(other, *this));
  ASSERT_TRUE(arbitrator_.request(mine, clock_.now(), 1s));
  EXPECT_EQ(word, CurrentIo::kQuiesce | 1U);
  EXPECT_EQ(of_another, 0U);
  EXPECT_EQ(arbitrator_.state(mine), SwapArbitrator::State::kQuiescing) << "its own count holds it";
  EXPECT_FALSE(arbitrator_.quiesced(mine)) << "an I/O is outstanding";
  EXPECT_TRUE(CurrentIo(word).end());
  ASSERT_TRUE(arbitrator_.quiesced(mine));
  ASSERT_TRUE(arbitrator_.interest(mine));
  EXPECT_EQ(word, 0U);
  EXPECT_EQ(woken_, 1);
}

TEST_F(RegisteredWordTest, S004_09_without_adoption_a_region_with_a_word_stays_pinned) {
  std::atomic<std::uint32_t> word{0};
  const MemoryHandle mine = region(&word);
  EXPECT_FALSE(arbitrator_.request(mine, clock_.now(), 1s));
  EXPECT_FALSE(arbitrator_.quiesced(mine));
  EXPECT_FALSE(arbitrator_.interest(mine));
  EXPECT_TRUE(table_.entry(mine)->is_valid);
  EXPECT_EQ(word, 0U) << "its consumer is not asked to stop";
  EXPECT_EQ(arena_->free_frames(), 3U);
}

TEST_F(RegisteredWordTest, S004_09_X_23_a_word_and_a_page_source_exclude_each_other) {
  struct : PageSource {
    std::byte* bring_in(std::size_t) noexcept override { return nullptr; }
  } source;
  std::atomic<std::uint32_t> word{0};
  const MemoryHandle mine = region(&word);
  EXPECT_EQ(table_.entry(mine)->attribute, RegionAttribute::kQuiescable);
  const MemoryHandle paged = try_region(nullptr, &source).value();
  EXPECT_EQ(table_.entry(paged)->attribute, RegionAttribute::kOnDemand);
  EXPECT_FALSE(arbitrator_.adopt(paged, *this));
  const MemoryHandle plain = region(nullptr);
  EXPECT_EQ(table_.entry(plain)->attribute, RegionAttribute::kPinned);
  EXPECT_FALSE(arbitrator_.adopt(plain, *this));
  const std::size_t live = table_.live_count();
  const auto both = try_region(&word, &source);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().text(),
            "registering pages: a region is on-demand or quiescable, not both");
  EXPECT_EQ(table_.live_count(), live);
}

}  // namespace registered_word_test
}  // namespace splitnic::fabric
