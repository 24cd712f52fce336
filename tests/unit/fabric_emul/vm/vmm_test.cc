// Refusals of the memory manager, and that pages keep their bytes wherever they are.
#include "fabric_emul/vm/vmm.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/vm_harness.h"

namespace splitnic::fabric::testing::vmm_test {

class VmmTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kFrames = 8;
  template <typename T>
  static bool is_invalid(const T& result) {
    return !result.has_value() && result.error().errno_value() == EINVAL;
  }
  std::unique_ptr<Arena> arena = Arena::make(kFrames, kOffsetBits).value();
  Vmm vmm{*arena};
  ProcessId one = vmm.create_process(ProcessKind::kUser);
  ProcessId two = vmm.create_process(ProcessKind::kKernel);
};

TEST_F(VmmTest, S000_26_segments_that_are_none) {
  constexpr ProcessId kNobody{77};
  const EffectiveAddress at = vmm.add_segment(one, 2).value();
  EXPECT_TRUE(is_invalid(vmm.add_segment(kNobody, 1)));
  EXPECT_TRUE(is_invalid(vmm.add_segment(one, 0)));
  EXPECT_TRUE(is_invalid(vmm.add_segment(one, kSegmentPagesMax + 1)));
  EXPECT_TRUE(is_invalid(vmm.add_segment(one, 1, 0)));
  EXPECT_TRUE(is_invalid(vmm.add_segment(one, 1, 4)));
  EXPECT_TRUE(vmm.add_segment(one, kSegmentPagesMax)) << "pages cost nothing before they are used";
  for (const EffectiveAddress wrong : {at + 1, at + kVmPageBytes, EffectiveAddress(0)}) {
    EXPECT_TRUE(is_invalid(vmm.remove_segment(one, wrong)));
    EXPECT_TRUE(is_invalid(vmm.resize_segment(one, wrong, 1)));
    EXPECT_TRUE(is_invalid(vmm.protect_segment(one, wrong, kPageRead)));
    EXPECT_TRUE(is_invalid(vmm.remap_segment(one, wrong, at)));
    EXPECT_TRUE(is_invalid(vmm.remap_segment(one, at, wrong)));
  }
  EXPECT_TRUE(is_invalid(vmm.remove_segment(two, at)));
  EXPECT_TRUE(is_invalid(vmm.resize_segment(one, at, 0)));
  EXPECT_TRUE(is_invalid(vmm.resize_segment(one, at, kSegmentPagesMax + 1)));
  EXPECT_TRUE(is_invalid(vmm.protect_segment(one, at, 0)));
  EXPECT_TRUE(is_invalid(vmm.end_process(kNobody)));
  EXPECT_EQ(vmm.kind_of(two), ProcessKind::kKernel);
  EXPECT_FALSE(vmm.kind_of(kNobody));
  ASSERT_TRUE(vmm.remove_segment(one, at));
  const EffectiveAddress next = vmm.add_segment(one, 2).value();
  EXPECT_GT(next, at) << "the address is not given again";
}

TEST_F(VmmTest, S000_31_more_memory_than_frames) {
  constexpr std::size_t kBytes = 2 * kFrames * kVmPageBytes;
  const EffectiveAddress at = vmm.add_segment(one, 2 * kFrames).value();
  const auto content = VmNode::pattern_of(4, kBytes);
  for (std::uint64_t i = 0; i < kBytes; i += kVmPageBytes) {
    ASSERT_TRUE(vmm.store(one, at + i, base::Bytes(content).subspan(i, kVmPageBytes)));
    ASSERT_TRUE(vmm.take_out(page_of(vmm.to_virtual(one, at + i).value())));
  }
  EXPECT_EQ(arena->free_frames(), kFrames);
  std::vector<std::byte> out(kVmPageBytes);
  for (std::uint64_t i = 0; i < kFrames * kVmPageBytes; i += kVmPageBytes) {
    ASSERT_TRUE(vmm.load(one, at + i, out));
    EXPECT_TRUE(std::equal(out.begin(), out.end(), content.begin() + static_cast<long>(i))) << i;
  }
  const auto full = vmm.load(one, at + kFrames * kVmPageBytes, out);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().errno_value(), ENOMEM);
  ASSERT_TRUE(vmm.end_process(one));
  EXPECT_EQ(arena->free_frames(), kFrames);
}

TEST_F(VmmTest, S000_26_a_process_has_its_own_memory_only) {
  const EffectiveAddress at = vmm.add_segment(one, 1).value();
  std::vector<std::byte> bytes(10);
  EXPECT_TRUE(vmm.store(one, at + 4086, bytes));
  EXPECT_TRUE(is_invalid(vmm.store(one, at + 4087, bytes)));
  EXPECT_TRUE(is_invalid(vmm.load(two, at, bytes)));
  EXPECT_TRUE(is_invalid(vmm.load(ProcessId(77), at, bytes)));
  EXPECT_TRUE(is_invalid(vmm.load(one, EffectiveAddress(UINT64_MAX), bytes)));
  EXPECT_TRUE(vmm.load(one, EffectiveAddress(0), {})) << "nothing is always there";
  const VirtualPage page = page_of(vmm.to_virtual(one, at).value());
  EXPECT_TRUE(vmm.bring_in(page));
  EXPECT_FALSE(vmm.bring_in(VirtualPage(page.value + 1)));
}

}  // namespace splitnic::fabric::testing::vmm_test
