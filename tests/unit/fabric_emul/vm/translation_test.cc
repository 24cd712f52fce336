// Segment table, then page table: every way that a translation can end, with both forms of the page
// table.
#include "fabric_emul/vm/translation.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "fabric_emul/vm/inverted_page_table.h"
#include "fabric_emul/vm/private_page_table.h"
#include "tests/support/vm_harness.h"

namespace splitnic::fabric::testing::translation_test {

constexpr std::size_t kFrames = 8;
constexpr SegmentPointer kRead{0x000001}, kBoth{0xABCDEF}, kFull{0x700000}, kNext{0x700001},
    kInvalid{0x000002}, kNone{0x000003};
constexpr VirtualSegment kUpper{0x123456}, kOther{0xFEDCBA};
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::unique_ptr<PageTable> make_table(PageTableForm form) {
  if (form == PageTableForm::kPrivate) return std::make_unique<PrivatePageTable>();
  return std::make_unique<InvertedPageTable>(kFrames);
}

class TranslationTest : public ::testing::TestWithParam<PageTableForm> {
 protected:
  TranslationTest() {
    segments.set(kRead, {true, kUpper, 4, kPageRead});
    segments.set(kBoth, {true, kUpper, 2, kPageProtections});
    segments.set(kInvalid, {false, kUpper, 4, kPageProtections});
    segments.set(kFull, {true, kOther, kSegmentPagesMax, kPageProtections});
    segments.set(kNext, {true, kOther, 1, kPageProtections});
    pages->set(page_of(kUpper, 0), {PhysicalPage(5), true, true, kPageProtections});
    pages->set(page_of(kUpper, 1), {PhysicalPage(2), true, true, kPageRead});
    pages->set(page_of(kUpper, 2), {PhysicalPage(0), false, true, kPageRead});
    pages->set(page_of(kUpper, 3), {PhysicalPage(7), true, false, kPageProtections});
  }
  TranslationFault fault(EffectiveAddress at, std::uint8_t protection) {
    return translate(segments, *pages, at, protection).fault;
  }
  SegmentTable segments;
  std::unique_ptr<PageTable> pages = make_table(GetParam());
};

constexpr EffectiveAddress at(SegmentPointer segment, std::uint64_t page, std::uint64_t offset) {
  return start_of_segment(segment) + (page * kVmPageBytes + offset);
}

TEST_P(TranslationTest, S000_26_fields_of_an_address) {
  const EffectiveAddress all{0xABCDEF'1234567'89AULL};
  EXPECT_EQ(segment_of(all).value, 0xABCDEFU);
  EXPECT_EQ(page_number(all.value), 0x1234567U);
  EXPECT_EQ(offset_in_page(all.value), 0x89AU);
  EXPECT_EQ(address_in(page_of(VirtualSegment(0xABCDEF), 0x1234567), 0x89A).value, all.value);
  EXPECT_EQ(segment_of(page_of(VirtualAddress(all.value))).value, 0xABCDEFU);
  EXPECT_EQ(number_in_segment(page_of(VirtualAddress(all.value))), 0x1234567U);
}

TEST_P(TranslationTest, S000_26_segment_gives_upper_bits_and_page_gives_the_frame) {
  const Translation found = translate(segments, *pages, at(kBoth, 0, 0x123), kPageProtections);
  EXPECT_EQ(found.fault, TranslationFault::kNone);
  EXPECT_EQ(found.address.value, 0x123456'0000000'123ULL);
  EXPECT_EQ(found.at.value, 0x5123U);
  EXPECT_EQ(translate(segments, *pages, at(kRead, 1, 0xFFF), kPageRead).at.value, 0x2FFFU);
  EXPECT_EQ(translate(*pages, found.address, kPageRead).at.value, 0x5123U) << "without segments";
}

TEST_P(TranslationTest, S000_26_each_fault) {
  const struct {
    EffectiveAddress address;
    std::uint8_t protection;
    TranslationFault fault;
  } kCases[] = {
      {at(kNone, 0, 0), kPageRead, TranslationFault::kNoSegment},
      {at(kInvalid, 0, 0), kPageRead, TranslationFault::kNoSegment},
      {EffectiveAddress(0), kPageRead, TranslationFault::kNoSegment},
      {EffectiveAddress(kMax), kPageRead, TranslationFault::kNoSegment},
      {at(kBoth, 1, 4095), kPageRead, TranslationFault::kNone},
      {at(kBoth, 2, 0), kPageRead, TranslationFault::kPastEnd},
      {at(kRead, kSegmentPagesMax - 1, 4095), kPageRead, TranslationFault::kPastEnd},
      {at(kRead, 1, 0), kPageWrite, TranslationFault::kProtection},
      {at(kRead, 1, 0), kPageProtections, TranslationFault::kProtection},
      {at(kRead, 2, 0), kPageRead, TranslationFault::kOut},
      {at(kRead, 2, 0), kPageWrite, TranslationFault::kProtection},
      {at(kRead, 3, 0), kPageRead, TranslationFault::kUnmapped},
      {at(kFull, 0, 0), kPageRead, TranslationFault::kUnmapped},
      {at(kFull, kSegmentPagesMax - 1, 4095), kPageRead, TranslationFault::kUnmapped},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(fault(one.address, one.protection), one.fault) << std::hex << one.address.value;
  }
}

TEST_P(TranslationTest, S000_30_a_page_that_moves_is_found_where_it_is) {
  const VirtualPage page = page_of(kUpper, 0);
  pages->set(page, {PhysicalPage(6), true, true, kPageRead});
  EXPECT_EQ(translate(*pages, address_in(page, 1), kPageRead).at.value, 0x6001U);
  pages->set(page, {{}, false, true, kPageRead});
  EXPECT_EQ(fault(at(kBoth, 0, 0), kPageRead), TranslationFault::kOut);
  // Another page may have the frames that it had.
  pages->set(page_of(kOther, 9), {PhysicalPage(6), true, true, kPageRead});
  pages->set(page, {PhysicalPage(5), true, true, kPageRead});
  EXPECT_EQ(translate(*pages, address_in(page, 0), kPageRead).at.value, 0x5000U);
  EXPECT_EQ(translate(*pages, address_in(page_of(kOther, 9), 0), kPageRead).at.value, 0x6000U);
  EXPECT_EQ(pages->size(), 5U);
  pages->erase(page);
  pages->erase(page);
  EXPECT_EQ(fault(at(kBoth, 0, 0), kPageRead), TranslationFault::kUnmapped);
  EXPECT_EQ(pages->size(), 4U);
}

TEST_P(TranslationTest, S000_21_ranges_that_a_segment_table_allows) {
  const struct {
    EffectiveAddress address;
    std::uint64_t length;
    std::uint8_t protection;
    bool is_allowed;
  } kCases[] = {
      {at(kBoth, 0, 0), 8192, kPageProtections, true},
      {at(kBoth, 1, 4095), 1, kPageWrite, true},
      {at(kBoth, 1, 4095), 2, kPageRead, false},
      {at(kBoth, 0, 0), 0, kPageRead, false},
      {at(kBoth, 2, 0), 1, kPageRead, false},
      {at(kRead, 0, 0), 1, kPageWrite, false},
      {at(kRead, 0, 0), kMax, kPageRead, false},
      {at(kRead, 0, 0), kMax - at(kRead, 0, 0).value, kPageRead, false},
      {at(kInvalid, 0, 0), 1, kPageRead, false},
      {at(kFull, 0, 0), kSegmentBytesMax, kPageRead, true},
      {at(kFull, 0, 0), kSegmentBytesMax + kVmPageBytes, kPageRead, true},
      {at(kFull, 5, 7), kSegmentBytesMax + kVmPageBytes, kPageRead, false},
      {EffectiveAddress(kMax), 1, kPageRead, false},
      {EffectiveAddress(kMax), kMax, kPageRead, false},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(segments.allows(one.address, one.length, one.protection), one.is_allowed)
        << std::hex << one.address.value << " + " << one.length;
  }
}

TEST(SegmentTable, S000_21_a_range_does_not_continue_at_the_beginning_of_the_space) {
  constexpr SegmentPointer kFirst{0}, kLast{0xFFFFFF};
  SegmentTable segments;
  for (const SegmentPointer segment : {kFirst, kLast}) {
    segments.set(segment, {true, kUpper, kSegmentPagesMax, kPageRead});
  }
  EXPECT_TRUE(segments.allows(EffectiveAddress(kMax - 10), 10, kPageRead));
  EXPECT_FALSE(segments.allows(EffectiveAddress(kMax - 10), 12, kPageRead));
  EXPECT_FALSE(segments.allows(EffectiveAddress(kMax), kVmPageBytes, kPageRead));
}

TEST(InvertedPageTable, S000_30_a_frame_leads_to_its_page) {
  InvertedPageTable table(2);
  const VirtualPage page = page_of(kUpper, 77);
  EXPECT_FALSE(table.page_in(PhysicalPage(1)));
  table.set(page, {PhysicalPage(1), true, true, kPageRead});
  EXPECT_EQ(table.page_in(PhysicalPage(1)), page);
  EXPECT_FALSE(table.page_in(PhysicalPage(0)));
  EXPECT_FALSE(table.page_in(PhysicalPage(2))) << "no such frame";
  table.set(page, {{}, false, true, kPageRead});
  EXPECT_FALSE(table.page_in(PhysicalPage(1)));
  EXPECT_DEATH(table.set(page, {PhysicalPage(2), true, true, kPageRead}), "CHECK");
}

INSTANTIATE_TEST_SUITE_P(S000_30, TranslationTest, ::testing::ValuesIn(kForms), FormName{});

}  // namespace splitnic::fabric::testing::translation_test
