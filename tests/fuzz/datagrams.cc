// The datagram services: the other node of an end-to-end context that does anything, and Raw
// datagrams of a stranger. Messages of the peer come in order, early, late and twice, with results
// of its choice for ours; queue pairs and the context end meanwhile. Whatever comes, no work
// request succeeds without a result of success, the result of a message never changes, a FetchOp is
// executed once, no byte leaves that the peer may not read, and what datagram_node.h states holds.
#include <map>

#include "tests/fuzz/datagram_node.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using support::Input;
using namespace std::chrono_literals;
using Side = DatagramNode::Side;

constexpr int kDatagramsStepsMax = 128;
constexpr std::uint8_t kDatagramPeerBits = 0x3F;
constexpr std::uint8_t kIcmp = 58;

constexpr auto kRequests =
    std::to_array<Op>({Op::kSend, Op::kRdmaWrite, Op::kRdmaReadReq, Op::kFetchOpReq, Op::kSendDereg,
                       Op::kSend, Op::kRdmaWrite, Op::kRdmaReadResp});
constexpr auto kDatagramAckCodes = std::to_array<AckCode>(
    {AckCode::kAck, AckCode::kAck, AckCode::kAck, AckCode::kRnr, AckCode::kSequence,
     AckCode::kInvalidRdRequest, AckCode::kRemoteAccess, AckCode::kInvalidRequest});

bool is_result(Op op) {
  return op == Op::kAck || op == Op::kNak || op == Op::kRdmaReadResp || op == Op::kFetchOpResp;
}

class DatagramRun {
 public:
  explicit DatagramRun(base::Bytes bytes) : in_(bytes) {
    for (Side& side : node_.sides()) node_.post_receive(side, DatagramNode::kSlotBytes);
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kDatagramsStepsMax; ++steps) {
      step(in_.u8());
      check();
    }
    settle();
    node_.end();
  }

 private:
  // One that our side sends, as its first transmission has it.
  struct Message {
    Qpn from, to;
    Op op = Op::kSend;
    std::uint32_t bytes = 0;
  };

  void step(unsigned choice) {
    constexpr std::array kOps{WrOp::kSend, WrOp::kRdmaWrite, WrOp::kRdmaRead, WrOp::kFetchOp};
    switch (choice % 8) {
      case 0: {
        const WrOp op = kOps[choice >> 4 & 3U];
        const std::size_t bytes =
            op == WrOp::kFetchOp ? 8 : in_.below(DatagramNode::kSinkBytes + 1);
        return node_.post(node_.sides()[choice >> 3 & 1U], op, static_cast<std::uint32_t>(bytes));
      }
      case 1:
        return add_result(choice >> 3);
      case 2:
      case 3:
        return add_request(choice >> 3);
      case 4:
        return add_datagram(choice >> 3);
      case 5:
        return node_.post_receive(node_.sides()[(choice >> 3) % 3],
                                  DatagramNode::kSlotBytes - 32 * in_.below(4));
      case 6:
        return attacked_.advance(choice < 128 ? 25us * choice : 1ms * (choice - 126));
      default:
        return special(choice >> 3);
    }
  }
  void special(unsigned choice) {
    Side& side = node_.sides()[choice & 1U];
    if (choice < 8) {
      is_correct_ = false;
      attacked_.add(raw_cell(in_, attacked_.maker()));
    } else if (choice < 16) {
      attacked_.repeat(choice);
    } else if (choice < 24) {
      attacked_.deliver();
    } else if (choice < 28) {  // SQE -> RTS, where that is possible
      static_cast<void>(node_.adapter().modify_qp(side.qpn, QpState::kRts, 0, {}));
    } else if (choice < 30) {
      settle();
      node_.renew(side);
    } else {
      settle();
      node_.renew_context();
      next_psn_ = DatagramNode::kPeerPsn;
      messages_.clear();
      results_.clear();
    }
  }
  void settle() {
    attacked_.deliver();
    check();
  }

  CellHead head(Op op, Psn psn, Qpn to, Qpn from) {
    CellHead out;
    out.header = attacked_.maker().header(op, Pos::kOnly);
    out.header.service = Service::kRd;
    out.header.psn = psn;
    out.header.dqpn = to;
    out.header.sqpn = from;
    out.ee = node_.context().value;
    return out;
  }
  std::vector<std::byte> payload(std::size_t bytes) {
    return std::vector<std::byte>(
        bytes, std::byte{static_cast<std::uint8_t>(in_.u8() & kDatagramPeerBits)});
  }
  void add(AttackedQp::Cell cell, bool is_changed) {
    if (is_changed) {
      is_correct_ = false;
      change_cell(in_, cell);
    }
    attacked_.add(std::move(cell));
  }
  // The result of a message that was sent; the input chooses which and what.
  void add_result(unsigned choice) {
    if (messages_.empty()) return;
    const auto at =
        std::next(messages_.begin(), static_cast<std::ptrdiff_t>(in_.below(messages_.size())));
    const Message& message = at->second;
    AckExt ack;
    ack.code = in_.one_of(kDatagramAckCodes);
    ack.detail = static_cast<std::uint8_t>(choice);
    const bool is_taken = ack.code == AckCode::kAck;
    CellHead cell = head(is_taken ? Op::kAck : Op::kNak, Psn(at->first), message.from, message.to);
    std::vector<std::byte> response;
    if (is_taken && wants_response(message.op)) {
      cell.header.op = message.op == Op::kRdmaReadReq ? Op::kRdmaReadResp : Op::kFetchOpResp;
      response = payload(message.bytes);
    } else {
      cell.ack = &ack;
    }
    const auto side = std::ranges::find(node_.sides(), message.from, &Side::qpn);
    if (is_taken && side != node_.sides().end()) side->taken.insert(at->first);
    add(testing::make_cell(cell, response), choice >= 28);
    if ((choice & 1U) == 0) attacked_.deliver();
  }
  // The next message of the peer, unless it is lost or has another number.
  void add_request(unsigned choice) {
    const Op op = in_.one_of(kRequests);
    const std::uint8_t place = in_.u8();
    const Qpn to = place >= 248 ? Qpn(0x99) : node_.sides()[place % 3].qpn;
    Psn psn = next_psn_;
    if ((choice & 1U) == 0) {
      ++next_psn_;
    } else {
      psn = psn + static_cast<std::uint32_t>(in_.delta());
    }
    CellHead cell = head(op, psn, to, Qpn(0x55));
    if ((choice & 2U) != 0) cell.header.flags |= kFlagAckRequest;
    constexpr std::array<std::size_t, 4> kPlaces{0, 1, 0, 3};  // none is the counter
    const AtomicExt fetch{FetchOp::kFetchAdd, 1, 0};
    const DatagramNode::Target& counter = node_.targets()[DatagramNode::kCounter];
    const DatagramNode::Target& target = node_.targets()[kPlaces[place >> 2 & 3U]];
    const std::size_t bytes = in_.below(AttackedQp::kMcp + 1);
    const VaMh range{VirtualAddress(target.start.value + (place >> 4)), target.handle,
                     static_cast<std::uint32_t>(bytes)};
    if (op == Op::kRdmaReadReq || op == Op::kRdmaWrite) cell.va_mh = range;
    if (op == Op::kSendDereg) cell.dereg = node_.targets()[3].handle.value;
    if (op == Op::kFetchOpReq) {
      cell.va_mh = VaMh{counter.start, counter.handle, sizeof(std::uint64_t)};
      cell.atomic = &fetch;
    }
    const std::vector<std::byte> data = payload(wants_response(op) ? 0 : bytes);
    if (choice >= 24 && choice < 28) return;  // lost
    add(testing::make_cell(cell, data), choice >= 28);
  }
  void add_datagram(unsigned choice) {
    constexpr std::array kNext{DatagramNode::kUdp, DatagramNode::kTcp, DatagramNode::kUdp, kIcmp};
    const std::size_t bytes = in_.below(AttackedQp::kMcp - kGnhBytes + 1);
    std::vector<std::byte> data = payload(bytes);
    const std::uint8_t port_off = (choice & 8U) != 0 ? in_.u8() : 0;
    if (bytes >= 4) {
      const auto port = static_cast<std::uint16_t>(DatagramNode::kUdpPort + port_off);
      base::store_be(data.data() + 2, port);
    }
    Gnh gnh;
    gnh.next_header = kNext[choice % kNext.size()];
    gnh.length = static_cast<std::uint16_t>(bytes + ((choice & 16U) != 0 ? in_.u8() : 0));
    gnh.destination.back() = (choice & 4U) != 0 ? std::byte{0} : DatagramNode::kTcpDestination;
    CellHead cell;
    cell.header = attacked_.maker().header(Op::kRaw, Pos::kOnly);
    cell.header.service = Service::kRaw;
    cell.header.dqpn = Qpn();
    cell.gnh = &gnh;
    add(testing::make_cell(cell, data), choice == 31);
  }

  void check() {
    attacked_.take_sent([&](const testing::TappedCell& cell) { note_sent(cell); });
    node_.check();
    if (!is_correct_) return;
    for (const Side& side : node_.sides()) CHECK(side.successes <= side.taken.size());
    CHECK(node_.counter() == fetches_);
  }
  void note_sent(const testing::TappedCell& sent) {
    CellView cell;
    CHECK(parse_cell(sent.bytes, cell) == CellError::kNone);
    const MacHeader& h = cell.header;
    CHECK(h.service == Service::kRd && cell.ee == DatagramNode::kPeerContext);
    if (!is_result(h.op)) {
      const std::uint32_t bytes = cell.va_mh ? cell.va_mh->length : 0;
      messages_.try_emplace(h.psn.value, Message{h.sqpn, h.dqpn, h.op, bytes});
      return;
    }
    if (h.op == Op::kRdmaReadResp && is_correct_) {
      for (const std::byte b : cell.payload) CHECK(b != DatagramNode::kSecret);
    }
    AckExt ack;
    if (parse_ack(cell, ack) && ack.code == AckCode::kSequence) return;
    const auto [at, is_new] = results_.emplace(h.psn.value, sent.bytes);
    CHECK(is_new || at->second == sent.bytes);
    if (is_new && h.op == Op::kFetchOpResp) ++fetches_;
  }

  Input in_;
  DatagramNode node_;
  AttackedQp& attacked_ = node_.attacked();
  Psn next_psn_ = DatagramNode::kPeerPsn;                    // of the peer
  std::map<std::uint32_t, Message> messages_;                // of our side, by PSN
  std::map<std::uint32_t, std::vector<std::byte>> results_;  // of the peer's messages, by PSN
  std::uint64_t fetches_ = 0;                                // FetchOps that have a response
  bool is_correct_ = true;  // no cell was changed, or made of any bytes
};

}  // namespace

// Steps of one byte and more.
void datagrams(base::Bytes in) { DatagramRun(in).all(); }

}  // namespace splitnic::fuzz
