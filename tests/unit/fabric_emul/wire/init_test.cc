#include "fabric_emul/wire/init.h"

#include <gtest/gtest.h>

#include "fabric_emul/wire/flit.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace init_test {

using golden::Bytes;

Init hello() {
  Init init;
  init.program_version = 0x00010000;
  init.lanes_mask = 0x800F;
  init.mcp_max = 1364;
  init.flit_payload_max = 1420;
  init.port = 0;
  init.receive_buffer_bytes = 4U << 20;
  init.eui64 = Eui64(0x0200000000000001);
  init.instance = 0x1111222233334444;
  init.nonce = 0xA1A2A3A4A5A6A7A8;
  init.lid = Lid(1);
  return init;
}

Init ready() {
  Init init = hello();
  init.step = InitStep::kReady;
  init.eui64 = Eui64(0x0200000000000002);
  init.peer_instance = init.instance;
  init.instance = 0x5555666677778888;
  init.echo = init.nonce;
  init.nonce = 0;
  init.lid = Lid(2);
  init.offered_lid = Lid(1);
  return init;
}

// Of a client that accepts a cell CRC over the head only, on one machine.
Init with_proof() {
  Init init = hello();
  init.step = InitStep::kAnswer;
  init.payload_crc = PayloadCrc::kOmittedIfProven;
  init.proof = 0x110E5CC2D09019;
  init.peer_instance = 0x5555666677778888;
  init.nonce = 0xB1B2B3B4B5B6B7B8;
  init.echo = 0xC1C2C3C4C5C6C7C8;
  return init;
}

Bytes bytes(const Init& init) {
  Bytes out(kInitBytes);
  emit_init(out.data(), init);
  return out;
}

InitError error_of(const Bytes& in) {
  Init out;
  return parse_init(in, out);
}

TEST(InitTest, X_46_golden_hello_proof_and_ready) {
  const FlitHeader header{.type = FlitType::kInit, .vl = kMgmtLane};
  for (const auto& [init, hex] :
       {std::pair{hello(), golden::kInitHelloFlit}, std::pair{with_proof(), golden::kInitProofFlit},
        std::pair{ready(), golden::kInitReadyFlit}}) {
    Bytes flit(kFlitHeaderBytes + kInitBytes);
    emit_flit(flit, header, bytes(init));
    EXPECT_EQ(golden::hex_of(flit), hex);
    Init back;
    ASSERT_EQ(parse_init(bytes(init), back), InitError::kNone);
    EXPECT_EQ(back, init);
  }
}

TEST(InitTest, X_46_every_step_has_one_size_so_no_reply_outgrows_its_request) {
  for (unsigned step = 0; step < 256; ++step) {
    Init init = hello();
    init.step = static_cast<InitStep>(step);
    if (init.step == InitStep::kRefuse) init.reason = InitReason::kBusy;
    Bytes in = bytes(init);
    EXPECT_EQ(in.size(), kInitBytes);
    EXPECT_EQ(error_of(in), step >= 1 && step <= 8 ? InitError::kNone : InitError::kStep) << step;
  }
}

TEST(InitTest, every_field_survives_the_round_trip) {
  Init init = ready();
  init.step = InitStep::kRefuse;
  init.reason = InitReason::kIdentity;
  init.profile = LinkProfile::kFull;
  init.cell_crc = CellCrcMode::kHeadOnly;
  init.program_version = 0xFEDCBA98;
  init.lanes_mask = 0xFFFF;
  init.mcp_max = kMcpMax;
  init.flit_payload_max = 65535;
  init.port = 255;
  init.initial_credit = 0xFFFFFF;
  init.receive_buffer_bytes = 0xFFFFFFFF;
  init.nonce = 0x0102030405060708;
  init.offered_lid = Lid(0xFFFF);
  Init back;
  ASSERT_EQ(parse_init(bytes(init), back), InitError::kNone);
  EXPECT_EQ(back, init);
  init.profile = LinkProfile::kSpeed;
  init.initial_credit = 0;
  init.payload_crc = PayloadCrc::kOmitted;
  init.proof = kProofMask;
  ASSERT_EQ(parse_init(bytes(init), back), InitError::kNone);
  EXPECT_EQ(back, init);
}

TEST(InitTest, payload_crc_and_proof_are_of_the_speed_profile_and_credits_of_the_full_one) {
  for (const LinkProfile profile : {LinkProfile::kFull, LinkProfile::kSpeed, LinkProfile::kShm}) {
    Init init = with_proof();
    init.profile = profile;
    init.initial_credit = 0x123456;
    init.proof |= ~kProofMask;  // of 64 bits, 56 are sent
    Init back;
    ASSERT_EQ(parse_init(bytes(init), back), InitError::kNone);
    const bool is_speed = profile == LinkProfile::kSpeed;
    EXPECT_EQ(back.payload_crc, is_speed ? PayloadCrc::kOmittedIfProven : PayloadCrc::kRequired);
    EXPECT_EQ(back.proof, is_speed ? with_proof().proof : 0);
    EXPECT_EQ(back.initial_credit, profile == LinkProfile::kFull ? 0x123456U : 0U);
  }
}

TEST(InitTest, every_other_size_is_refused) {
  Bytes longer = bytes(hello());
  longer.resize(kInitBytes + 4);
  EXPECT_EQ(error_of(longer), InitError::kLength);
  for (std::size_t n = 0; n < kInitBytes; ++n) {
    longer.resize(kInitBytes);
    EXPECT_EQ(error_of(Bytes(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(n))),
              InitError::kLength);
  }
}

TEST(InitTest, reserved_bits_are_ignored) {
  for (const LinkProfile profile : {LinkProfile::kFull, LinkProfile::kShm}) {
    Init init = hello();
    init.profile = profile;
    for (const std::size_t at : {16U, 68U, 69U, 70U, 71U}) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes in = bytes(init);
        in[at] ^= static_cast<std::byte>(1U << bit);
        Init back;
        ASSERT_EQ(parse_init(in, back), InitError::kNone);
        EXPECT_EQ(back, init);
      }
    }
  }
}

TEST(InitTest, codes_without_a_meaning_are_refused) {
  const auto error_with = [](std::size_t at, unsigned value) {
    Bytes in = bytes(hello());
    in[at] = static_cast<std::byte>(value);
    return error_of(in);
  };
  for (unsigned value = 0; value < 256; ++value) {
    EXPECT_EQ(error_with(0, value), value == 1 ? InitError::kNone : InitError::kFormat);
    EXPECT_EQ(error_with(2, value), value <= 2 ? InitError::kNone : InitError::kStep);
    EXPECT_EQ(error_with(3, value), value <= 1 ? InitError::kNone : InitError::kStep);
    EXPECT_EQ(error_with(16, value), value <= 2 ? InitError::kNone : InitError::kStep);
    EXPECT_EQ(error_with(15, value), value == 0 ? InitError::kNone : InitError::kStep);
  }
  Init refuse = hello();
  refuse.step = InitStep::kRefuse;
  for (unsigned reason = 0; reason < 256; ++reason) {
    refuse.reason = static_cast<InitReason>(reason);
    EXPECT_EQ(error_of(bytes(refuse)),
              reason >= 1 && reason <= 6 ? InitError::kNone : InitError::kStep);
  }
}

TEST(InitTest, values_outside_their_bounds_are_refused) {
  const auto error_with = [](auto edit) {
    Init init = hello();
    edit(init);
    return error_of(bytes(init));
  };
  EXPECT_EQ(error_with([](Init& i) { i.mcp_max = 0; }), InitError::kValue);
  EXPECT_EQ(error_with([](Init& i) { i.mcp_max = 1365; }), InitError::kValue);
  EXPECT_EQ(error_with([](Init& i) { i.flit_payload_max = 119; }), InitError::kValue);
  EXPECT_EQ(error_with([](Init& i) { i.flit_payload_max = 120; }), InitError::kNone);
  EXPECT_EQ(error_with([](Init& i) { i.lanes_mask = 0; }), InitError::kValue);
  EXPECT_EQ(error_with([](Init& i) { i.instance = 0; }), InitError::kValue);
}

}  // namespace init_test
}  // namespace splitnic::fabric
