// INIT of the suite's end. docs/protocol/init.md#init
#include <algorithm>

#include "conformance/end.h"

namespace splitnic::conformance {
namespace {

using fabric::Init;
using fabric::InitStep;

constexpr std::uint32_t kProgramVersion = 0x00010000;
constexpr int kRepliesMax = 100;  // a case ends in time, whatever the target sends
constexpr base::Duration kCaseMin = std::chrono::seconds(30);

}  // namespace

End::End(Line& line, const EndConfig& config, base::Random& random, Outcome& outcome)
    : instance_(config.instance),
      line_(line),
      config_(config),
      random_(random),
      outcome_(outcome),
      until_(line.now() + std::max<base::Duration>(kRepliesMax * config.timeout, kCaseMin)),
      inbox_(outcome),
      context_(random.next() >> 2) {
  lid_ = config.lid;
  const std::size_t stride = std::min<std::size_t>(
      line.carrier().datagram_bytes_max() - fabric::kSessionReserveBytes, fabric::kBatchBytesMax);
  mcp_ = static_cast<std::uint16_t>((stride - fabric::kStrideOverhead) & ~std::size_t{3});
}

Init End::init(InitStep step) {
  Init init;
  init.step = step;
  init.profile = profile();
  init.cell_crc =
      config_.crc_head_only ? fabric::CellCrcMode::kHeadOnly : fabric::CellCrcMode::kWholeCell;
  init.program_version = kProgramVersion;
  init.lanes_mask = terms.lanes;
  init.mcp_max = mcp_;
  init.flit_payload_max = static_cast<std::uint16_t>(mcp_ + fabric::kCellOverheadMax);
  if (is_full()) {
    init.flit_payload_max = fabric::kFlitPayloadMin;  // so that the target has to take the smaller
    init.initial_credit = terms.granted_blocks;
  }
  init.port = config_.port;
  init.receive_buffer_bytes = terms.receive_buffer_bytes;
  init.eui64 = config_.eui64;
  init.instance = instance_;
  init.peer_instance = target_.instance;
  init.nonce = random_.next();
  init.lid = lid_;
  return init;
}

void End::send_flit(const fabric::FlitHeader& header, base::Bytes payload) {
  if (!is_good()) return;
  ByteVector datagram(fabric::kFlitHeaderBytes + payload.size());
  fabric::emit_flit(datagram, header, payload);
  line_.send(datagram);
}

void End::send(const Init& init) {
  std::array<std::byte, fabric::kInitBytes> payload{};
  fabric::emit_init(payload.data(), init);
  send_flit({.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane}, payload);
  const bool is_bye = init.step == InitStep::kBye && init.instance == instance_ &&
                      init.peer_instance == target_.instance;
  if (is_bye) set_linked(false);
}

void End::start_lanes(const Init& theirs, std::uint64_t nonce, bool is_client) {
  Lanes& lanes = line_.lanes();
  if (!is_full() || (lanes.is_open() && lanes.nonce() == nonce)) return;
  LaneTerms agreed;
  agreed.lanes = terms.lanes & theirs.lanes_mask;
  agreed.flit_payload_max = std::min<std::size_t>(fabric::kFlitPayloadMin, theirs.flit_payload_max);
  agreed.granted = terms.granted_blocks;
  agreed.target_granted = theirs.initial_credit;
  lanes.start(now(), agreed, nonce, is_client);
}

void End::send_lanes() {
  while (is_good()) {
    const auto datagram = line_.lanes().next(now());
    if (!datagram) return;
    line_.send(*datagram);
  }
}

}  // namespace splitnic::conformance
