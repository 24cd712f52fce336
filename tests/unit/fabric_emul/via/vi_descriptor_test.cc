// The bytes of descriptors: golden bytes of docs/protocol/via.md, round trips, and what is refused.
#include "fabric_emul/via/vi_descriptor.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric::vi_descriptor_test {

Sge piece(std::uint64_t address, std::uint32_t handle, std::uint32_t length) {
  Sge sge;
  sge.address = VirtualAddress(address);
  sge.lkey = MemoryHandle(handle);
  sge.length = length;
  return sge;
}

ViDescriptor example() {
  ViDescriptor d;
  d.op = ViOp::kRdmaWrite;
  d.idata = 0x00050003;
  d.is_fenced = true;
  d.length = 300;
  d.remote_address = VirtualAddress(0x00007F0012342800);
  d.remote_handle = MemoryHandle(0x2A01);
  const std::array<Sge, 2> pieces{piece(0x1122334455667700, 0x1234, 256), piece(0x40, 0x99, 44)};
  EXPECT_TRUE(d.data.assign(pieces));
  return d;
}

std::vector<std::byte> bytes_of(const ViDescriptor& d) {
  std::vector<std::byte> out(kViDescriptorBytesMax);
  out.resize(emit_vi_descriptor(out, d));
  return out;
}
std::uint32_t parse(const std::vector<std::byte>& bytes, ViQueue queue = ViQueue::kSend) {
  ViDescriptor d;
  return parse_vi_descriptor(bytes, queue, d);
}
void set16(std::vector<std::byte>& bytes, std::size_t at, std::uint16_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

TEST(ViDescriptorTest, S001_42_golden_bytes_on_a_little_endian_machine) {
  const auto golden = golden::bytes_of(
      "00000000 00000000 00000000 0300 0d00 00000000 03000500 2c010000 00000000"
      "00283412 007f0000 012a0000 00000000"
      "00776655 44332211 34120000 00010000"
      "40000000 00000000 99000000 2c000000");
  EXPECT_EQ(bytes_of(example()), golden);

  ViDescriptor d;
  ASSERT_EQ(parse_vi_descriptor(golden, ViQueue::kSend, d), 0U);
  EXPECT_EQ(d.op, ViOp::kRdmaWrite);
  EXPECT_EQ(d.idata, 0x00050003U);
  EXPECT_TRUE(d.is_fenced);
  EXPECT_EQ(d.length, 300U);
  EXPECT_EQ(d.remote_address, VirtualAddress(0x00007F0012342800));
  EXPECT_EQ(d.remote_handle, MemoryHandle(0x2A01));
  ASSERT_EQ(d.data.count, 2U);
  EXPECT_EQ(d.data.pieces[0].address, VirtualAddress(0x1122334455667700));
  EXPECT_EQ(d.data.pieces[0].lkey, MemoryHandle(0x1234));
  EXPECT_EQ(d.data.pieces[0].length, 256U);
  EXPECT_EQ(d.data.pieces[1].length, 44U);
}

// Address unaligned on purpose: nothing is cast.
TEST(ViDescriptorTest, S001_42_bytes_may_lie_at_any_address) {
  const auto bytes = bytes_of(example());
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::ranges::copy(bytes, shifted.begin() + 1);
  ViDescriptor d;
  EXPECT_EQ(parse_vi_descriptor(base::Bytes(shifted).subspan(1), ViQueue::kSend, d), 0U);
  EXPECT_EQ(d.data.bytes, 300U);
}

TEST(ViDescriptorTest, S001_42_no_data_segments_with_idata) {
  ViDescriptor d;
  d.idata = 7;
  EXPECT_EQ(bytes_of(d).size(), kViControlBytes);
  EXPECT_EQ(parse(bytes_of(d)), 0U);
  d.op = ViOp::kRdmaWrite;
  EXPECT_EQ(bytes_of(d).size(), kViControlBytes + kViSegmentBytes);
  EXPECT_EQ(parse(bytes_of(d)), 0U);
}

TEST(ViDescriptorTest, S001_42_too_many_segments_are_a_format_error) {
  ViDescriptor d;
  std::vector<Sge> pieces(kSgeMax, piece(64, 1, 1));
  ASSERT_TRUE(d.data.assign(pieces));
  d.length = kSgeMax;
  auto bytes = bytes_of(d);
  EXPECT_EQ(parse(bytes), 0U);
  bytes.resize(bytes.size() + kViSegmentBytes);
  set16(bytes, 12, kSgeMax + 1);
  EXPECT_EQ(parse(bytes), kViFormatError);
  set16(bytes, 12, 0xFFFF);
  EXPECT_EQ(parse(bytes), kViFormatError);
}

TEST(ViDescriptorTest, S001_42_every_truncation_is_a_format_error) {
  const auto bytes = bytes_of(example());
  for (std::size_t size = kViControlBytes; size < bytes.size(); ++size) {
    EXPECT_EQ(parse({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}),
              kViFormatError)
        << size;
  }
}

TEST(ViDescriptorTest, S001_42_every_reserved_bit_is_a_format_error) {
  const auto flipped = [](std::size_t byte, unsigned bit) {
    auto bytes = bytes_of(example());
    bytes[byte] ^= std::byte{1} << bit;
    return parse(bytes);
  };
  for (unsigned bit = 4; bit < 8; ++bit) EXPECT_EQ(flipped(14, bit), kViFormatError) << bit;
  for (unsigned bit = 0; bit < 8; ++bit) {
    EXPECT_EQ(flipped(15, bit), kViFormatError) << bit;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(flipped(16 + i, bit), kViFormatError) << i << ' ' << bit;
      EXPECT_EQ(flipped(kViControlBytes + 12 + i, bit), kViFormatError) << i << ' ' << bit;
    }
  }
}

TEST(ViDescriptorTest, S001_42_control_words_without_a_meaning_are_format_errors) {
  ViDescriptor d;
  auto bytes = bytes_of(d);
  for (unsigned control = 0; control < 16; ++control) {
    set16(bytes, 14, static_cast<std::uint16_t>(control));
    const unsigned op = control & 3;
    // RDMA needs its address segment; 3 is reserved.
    EXPECT_EQ(parse(bytes), op == 0 ? 0U : kViFormatError) << control;
    EXPECT_EQ(parse(bytes, ViQueue::kReceive), control == 0 ? 0U : kViFormatError) << control;
  }
  d.op = ViOp::kRdmaRead;
  EXPECT_EQ(parse(bytes_of(d)), 0U);
  d.idata = 1;
  EXPECT_EQ(parse(bytes_of(d)), kViFormatError) << "a read carries no immediate data";
}

TEST(ViDescriptorTest, S001_42_a_length_that_is_not_the_sum_is_a_length_error) {
  auto d = example();
  d.length = 301;
  EXPECT_EQ(parse(bytes_of(d)), kViLengthError);
  // The sum needs more than 32 bits.
  const std::array<Sge, 2> pieces{piece(0, 1, 0x80000000U), piece(0, 1, 0x80000000U)};
  ASSERT_TRUE(d.data.assign(pieces));
  d.length = 0;
  EXPECT_EQ(parse(bytes_of(d)), kViLengthError);
  // Of a receive it is written on completion, and means nothing before.
  ViDescriptor receive;
  receive.length = 5;
  EXPECT_EQ(parse(bytes_of(receive), ViQueue::kReceive), 0U);
}

TEST(ViDescriptorTest, S001_42_status_bits_are_those_of_vipl_h) {
  EXPECT_EQ(kViDone, 0x1U);
  EXPECT_EQ(kViFormatError, 0x2U);
  EXPECT_EQ(kViProtectionError, 0x4U);
  EXPECT_EQ(kViLengthError, 0x8U);
  EXPECT_EQ(kViPartialError, 0x10U);
  EXPECT_EQ(kViFlushed, 0x20U);
  EXPECT_EQ(kViTransportError, 0x40U);
  EXPECT_EQ(kViRdmaProtectionError, 0x80U);
  EXPECT_EQ(kViRemoteDescriptorError, 0x100U);
  EXPECT_EQ(kViOpReceive, 0x10000U);
  EXPECT_EQ(kViOpRdmaWrite, 0x20000U);
  EXPECT_EQ(kViOpRemoteRdmaWrite, 0x30000U);
  EXPECT_EQ(kViOpRdmaRead, 0x40000U);
  EXPECT_EQ(kViHasIdata, 0x80000U);
}

}  // namespace splitnic::fabric::vi_descriptor_test
