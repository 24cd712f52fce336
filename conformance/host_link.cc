// INIT of the suite's host. docs/protocol/init.md#init
#include <algorithm>

#include "conformance/host.h"

namespace splitnic::conformance {
namespace {

using fabric::Init;
using fabric::InitStep;

constexpr std::uint32_t kProgramVersion = 0x00010000;
constexpr std::uint16_t kLanes = 0x800F;
constexpr std::uint32_t kReceiveBuffer = 4 << 20;
constexpr int kRepliesMax = 100;  // a case ends in time, whatever the target sends

}  // namespace

Host::Host(Line& line, const HostConfig& config, base::Random& random, Outcome& outcome)
    : line_(line),
      config_(config),
      random_(random),
      outcome_(outcome),
      until_(line.now() + kRepliesMax * config.timeout),
      instance_(config.instance),
      context_(random.next() >> 2) {
  const std::size_t stride = std::min<std::size_t>(
      line.carrier().datagram_bytes_max() - fabric::kSessionReserveBytes, fabric::kBatchBytesMax);
  mcp_ = static_cast<std::uint16_t>((stride - fabric::kStrideOverhead) & ~std::size_t{3});
}

Init Host::init(InitStep step) {
  Init init;
  init.step = step;
  init.profile = config_.profile;
  init.cell_crc =
      config_.crc_head_only ? fabric::CellCrcMode::kHeadOnly : fabric::CellCrcMode::kWholeCell;
  init.program_version = kProgramVersion;
  init.lanes_mask = kLanes;
  init.mcp_max = mcp_;
  init.flit_payload_max = static_cast<std::uint16_t>(mcp_ + fabric::kCellOverheadMax);
  init.receive_buffer_bytes = kReceiveBuffer;
  init.eui64 = config_.eui64;
  init.instance = instance_;
  init.peer_instance = target_instance_;
  init.nonce = random_.next();
  init.lid = lid_;
  return init;
}

void Host::send_flit(const fabric::FlitHeader& header, base::Bytes payload) {
  if (!is_good()) return;
  ByteVector datagram(fabric::kFlitHeaderBytes + payload.size());
  fabric::emit_flit(datagram, header, payload);
  line_.send(datagram);
}

void Host::send(const Init& init) {
  std::array<std::byte, fabric::kInitBytes> payload{};
  fabric::emit_init(payload.data(), init);
  send_flit({.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane}, payload);
  const bool is_bye = init.step == InitStep::kBye && init.instance == instance_ &&
                      init.peer_instance == target_instance_;
  if (is_bye) is_linked_ = false;
}

std::optional<Init> Host::await_init(std::string_view expected) {
  const auto event = await(EventKind::kInit, expected);
  if (!event) return std::nullopt;
  return event->init;
}

void Host::begin_instance(std::uint64_t instance) {
  instance_ = instance;
  target_instance_ = 0;
  lid_ = target_lid_ = {};
  is_connected_ = is_linked_ = false;
}

bool Host::link() {
  const Init hello = init(InitStep::kHello);
  std::uint64_t nonce = hello.nonce;
  send(hello);
  auto reply = await_init("a reply to HELLO");
  if (reply && reply->step == InitStep::kChallenge) {
    target_instance_ = reply->instance;
    Init proof = init(InitStep::kAnswer);
    proof.echo = reply->nonce;
    nonce = proof.nonce;
    send(proof);
    reply = await_init("READY");
  }
  if (!reply) return false;
  if (reply->step == InitStep::kRefuse) {
    outcome_.reject("a link", last_received());
    return false;
  }
  if (!expect(reply->step == InitStep::kReady && reply->echo == nonce,
              "READY that echoes the nonce")) {
    return false;
  }
  target_instance_ = reply->instance;
  target_eui64_ = reply->eui64;
  target_lid_ = reply->lid;
  lid_ = reply->offered_lid;
  mcp_ = std::min(mcp_, reply->mcp_max);
  is_linked_ = true;
  return expect(lid_ != fabric::Lid() && target_lid_ != fabric::Lid() && lid_ != target_lid_,
                "two link addresses in READY");
}

bool Host::expect_no_init(std::string_view expected) {
  Init hello = init(InitStep::kHello);
  hello.instance = random_.next() | 1;  // nobody knows it: the reply is CHALLENGE
  hello.peer_instance = 0;
  send(hello);
  const auto reply = await_init("a reply to HELLO, after a datagram that is to be dropped");
  return reply && expect(reply->echo == hello.nonce, expected);
}

}  // namespace splitnic::conformance
