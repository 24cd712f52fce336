#include "fabric_emul/wire/terminate.h"

#include <gtest/gtest.h>

#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace terminate_test {

golden::Bytes golden_payload() {
  const golden::Bytes cell = golden::bytes_of(golden::kTerminate);
  return {cell.begin() + 32, cell.end() - 4};
}

TEST(TerminateTest, X_47_golden_bytes_name_check_tag_address_and_header) {
  const golden::Bytes cell = golden::bytes_of(golden::kTerminate);
  CellView view;
  ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
  EXPECT_EQ(view.header.op, Op::kTerminate);
  EXPECT_EQ(view.stream_number, 0x5000U);
  const auto t = Terminate::parse(view.payload);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->cause, TerminateCause::kBounds);
  EXPECT_EQ(t->check, 'e');
  EXPECT_EQ(t->handle, MemoryHandle(0x2A01));
  EXPECT_EQ(t->address, VirtualAddress(0x7F0012342800));
  EXPECT_EQ(t->length, 300U);
  EXPECT_EQ(t->offending, MacHeader::parse(golden::bytes_of(golden::kWriteOnly).data()));
  golden::Bytes out(kTerminateBytes);
  t->emit(out.data());
  EXPECT_EQ(out, golden_payload());
}

TEST(TerminateTest, other_sizes_causes_and_letters_are_refused) {
  const golden::Bytes good = golden_payload();
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(Terminate::parse(golden::Bytes(good.begin(), good.begin() + static_cast<int>(n))));
  }
  golden::Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(Terminate::parse(longer));
  for (unsigned top = 0; top < 0x10000; ++top) {
    golden::Bytes changed = good;
    changed[0] = static_cast<std::byte>(top >> 8);
    changed[1] = static_cast<std::byte>(top);
    const bool is_known = top == 0 || (top >= 0x100 && top <= 0x104) || top == 0x206 ||
                          top == 0x207 || top == 0x1202 || top == 0x1203 || top == 0x1205;
    EXPECT_EQ(Terminate::parse(changed).has_value(), is_known);
    if (!is_known) continue;
    golden::Bytes again(kTerminateBytes);
    Terminate::parse(changed)->emit(again.data());
    EXPECT_EQ(again, changed);
  }
  for (unsigned letter = 0; letter < 256; ++letter) {
    golden::Bytes changed = good;
    changed[2] = static_cast<std::byte>(letter);
    EXPECT_EQ(Terminate::parse(changed).has_value(),
              letter == 0 || (letter >= 'a' && letter <= 'g'));
  }
}

TEST(TerminateTest, reserved_bits_are_ignored) {
  const golden::Bytes good = golden_payload();
  for (const std::size_t at : {3U, 20U + 12U, 20U + 16U}) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      golden::Bytes changed = good;
      changed[at] ^= static_cast<std::byte>(1U << bit);
      EXPECT_EQ(Terminate::parse(changed), Terminate::parse(good));
    }
  }
}

}  // namespace terminate_test
}  // namespace splitnic::fabric
