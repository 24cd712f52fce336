// A hostile node at a port of a switch, and a hostile switch at an attached port: cells with any
// head, requests for names, flits and datagrams of any bytes; a receiver that reads now and then;
// time. Whatever comes, each cell that the switch received is accounted for once, what arrives at
// another node is whole, has the LID of its sender's port and is of a partition of both, no input
// of the speed profile has more than a batch in a queue, and an attachment takes one batch per call
// and hands over datagrams that walk. Each input runs in the speed profile and in the full one.
#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "tests/fuzz/targets.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace std::chrono_literals;
using support::Input;

constexpr int kSwitchCellsStepsMax = 64;
constexpr Lid kSwitch(1), kHostile(11), kVictim(12);
constexpr std::array kPartitions{kDefaultPartition, PartitionKey(0x7FFF), PartitionKey(0x8001),
                                 PartitionKey(0x8002), PartitionKey(0)};
constexpr std::array kLids{kSwitch, kHostile, kVictim, Lid(2), Lid(20), Lid(99), Lid(0)};

// The hostile node at port 1, the victim at port 2, a cable at port 3 that nobody is at.
SwitchPlan plan() {
  Topology t;
  t.switches = {{"sw", kSwitch}, {"b", Lid(2)}};
  t.nodes = {{"h", kHostile, {"sw", 1}, {kDefaultPartition, PartitionKey(0x8001)}},
             {"v", kVictim, {"sw", 2}, {kDefaultPartition, PartitionKey(2)}},
             {"u", Lid(20), {"b", 2}, {kDefaultPartition}}};
  t.cables = {{{"sw", 3}, {"b", 1}}};
  return plan_of(t, "sw").value();
}

PortConfig config(std::uint64_t number, LinkProfile profile) {
  PortConfig out;
  out.eui64 = Eui64(number);
  out.instance = number;
  out.profile = profile;
  out.full = full_between_processes();
  return out;
}
// The hostile switch gives its one peer the LID of the victim.
PortConfig hostile_switch(LinkProfile profile) {
  PortConfig out = config(200, profile);
  out.listens = true;
  out.number = 7;
  out.lids = [](const PeerAddress&) { return LinkLids{kSwitch, kVictim}; };
  return out;
}

class Watch final : public LinkObserver {
 public:
  void on_link_up(Link& up) override { link = &up; }
  void on_link_down(Link& /*link*/, std::string_view /*why*/) override {}
  void on_peer_restarted(Link& /*link*/) override {}
  Link* link = nullptr;
};

// A plain port, which writes any cell.
struct End {
  End(Underlay& at, const PortConfig& config, base::Random& random)
      : port(at, config, random, watch) {}
  Watch watch;
  Port port;
};

class SwitchRun {
 public:
  SwitchRun(base::Bytes bytes, LinkProfile profile) : in_(bytes), profile_(profile) {
    for (std::uint8_t i = 1; i <= 3; ++i) {
      sw_.add_port(i, *at_switch_[i - 1], config(100 + i, profile), nullptr, now());
    }
    hostile_.port.connect(at_switch_[0]->address(), now());
    victim_.port.connect(at_switch_[1]->address(), now());
    name_ = attachment_.peer("u");
    for (int i = 0; i < 20; ++i) run();
    CHECK(hostile_.watch.link != nullptr && victim_.watch.link != nullptr);
    CHECK(attachment_.is_attached());
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kSwitchCellsStepsMax; ++steps) {
      step();
      run();
      check();
    }
    sw_.send_bye(now());
  }

 private:
  base::Time now() { return clock_.now(); }
  Lid lid() { return in_.one_of(kLids); }

  void step() {
    const std::uint8_t choice = in_.u8();
    const bool is_at_switch = (choice & 8U) == 0;
    switch (choice % 8) {
      case 0:
        return send(is_at_switch, cell());
      case 1:
        return send(is_at_switch, any_bytes());
      case 2:
        return send_mgmt_cell(is_at_switch);
      case 3:
        return send_flit(is_at_switch);
      case 4:
        return clock_.advance(1ms * (choice >> 3) * (choice >> 3));
      case 5:
        reads_ = !reads_;
        return;
      case 6:
        return send_many(choice >> 3);
      default:
        return send_from_above(choice >> 3);
    }
  }
  // From the hostile node to the switch, or from the hostile switch to the attachment.
  void send(bool is_at_switch, const std::vector<std::byte>& cell) {
    End& from = is_at_switch ? hostile_ : false_switch_;
    Link* link = from.watch.link;
    if (cell.empty() || cell.size() > link->cell_bytes_max()) return;
    const base::MutableBytes room = link->reserve(cell.size(), in_.u8() & 0xF);
    if (room.empty()) return;
    std::ranges::copy(cell, room.begin());
    link->commit(cell.size());
    if (in_.flag()) from.port.flush(now());
  }
  // A cell with a right CRC and heads that suit, unless the input changes them.
  std::vector<std::byte> cell() {
    CellHead head;
    const std::uint8_t what = in_.u8();
    head.header.op = (what & 1U) != 0 ? Op::kMgmt : Op::kSend;
    head.header.service = (what & 2U) != 0 ? Service::kMgmt : Service::kRc;
    head.header.pos = Pos::kOnly;
    head.header.slid = (what & 4U) != 0 ? lid() : kHostile;
    head.header.dlid = (what & 8U) != 0 ? lid() : kVictim;
    if ((what & 16U) != 0) head.header.version = in_.u8() & 3U;
    if ((what & 64U) != 0) head.header.partition = in_.one_of(kPartitions);
    if ((what & 128U) != 0) head.header.sl = in_.u8() & kSlMax;
    head.header.dqpn = Qpn(in_.u8() & 3U);
    const base::Bytes payload = in_.bytes(200);
    std::vector<std::byte> out(cell_bytes(head, payload.size()));
    out.resize(emit_cell(out, head, payload));
    if ((what & 32U) != 0) out[in_.below(out.size())] ^= std::byte{in_.u8()};
    return out;
  }
  std::vector<std::byte> any_bytes() {
    const base::Bytes bytes = in_.bytes(255);
    return {bytes.begin(), bytes.end()};
  }
  void send_mgmt_cell(bool is_at_switch) {
    constexpr std::array kKinds{MgmtKind::kResolve, MgmtKind::kResolved};
    Mgmt m;
    m.kind = in_.one_of(kKinds);
    m.transaction = in_.u8();
    m.instance = 1 + in_.u8();
    m.private_data = in_.bytes(kMgmtPrivateBytesMax);
    End& from = is_at_switch ? hostile_ : false_switch_;
    send_mgmt(*from.watch.link, is_at_switch ? kHostile : kSwitch, is_at_switch ? kSwitch : kVictim,
              m);
    from.port.flush(now());
  }
  // A datagram of one flit with any head, or of any bytes.
  void send_flit(bool is_at_switch) {
    const std::uint8_t what = in_.u8();
    std::vector<std::byte> out = any_bytes();
    if ((what & 1U) != 0 && out.size() > kFlitHeaderBytes) {
      FlitHeader header;
      header.type = static_cast<FlitType>(what >> 1 & 7U);
      header.ctl = in_.u8();
      header.vl = what >> 4;
      header.size = static_cast<std::uint16_t>(out.size() - kFlitHeaderBytes);
      seal_flit(out, header);
    }
    if (out.empty()) return;
    InProcessUnderlay& from = is_at_switch ? at_hostile_ : at_false_switch_;
    from.send(is_at_switch ? at_switch_[0]->address() : at_attachment_.address(), out, out.size());
  }
  // Long cells, more than the victim's link has room for.
  void send_many(unsigned count) {
    CellHead head;
    head.header.slid = kHostile;
    head.header.dlid = (count & 1U) != 0 ? kVictim : kSwitch;
    head.header.op = Op::kSend;
    const std::vector<std::byte> payload(profile_ == LinkProfile::kFull ? 1000 : 1200);
    std::vector<std::byte> out(cell_bytes(head, payload.size()));
    out.resize(emit_cell(out, head, payload));
    for (unsigned i = 0; i < 2 * count; ++i) {
      const base::MutableBytes room = hostile_.watch.link->reserve(out.size());
      if (room.empty()) return;
      std::ranges::copy(out, room.begin());
      hostile_.watch.link->commit(out.size());
    }
  }
  // The layers above an attachment send datagrams of flits, to a name or to the last sender.
  void send_from_above(unsigned choice) {
    std::vector<std::byte> out(kFlitHeaderBytes + in_.below(1200));
    FlitHeader header;
    header.type = (choice & 1U) != 0 ? FlitType::kIdle : FlitType::kData;
    header.size = static_cast<std::uint16_t>(out.size() - kFlitHeaderBytes);
    if (header.type == FlitType::kData && header.size == 0) return;
    seal_flit(out, header);
    attachment_.send((choice & 2U) != 0 ? name_ : last_from_, out, out.size());
  }

  void run() {
    for (int i = 0; i < 3; ++i) sw_.step(now());
    CHECK(sw_.deadline() > now());  // it does not spin
    hostile_.port.on_time(now());
    hostile_.port.receive(now(), 64, [](Link&, std::span<const ReceivedCell> cells) {
      for (const ReceivedCell& cell : cells) check_arrived(cell, kSwitch, kHostile);
    });
    hostile_.port.flush(now());
    victim_.port.on_time(now());
    if (reads_) {
      victim_.port.receive(now(), 64, [](Link&, std::span<const ReceivedCell> cells) {
        for (const ReceivedCell& cell : cells) check_arrived(cell, kHostile, kVictim);
      });
    }
    victim_.port.flush(now());
    false_switch_.port.on_time(now());
    false_switch_.port.receive(now(), 64, [](Link&, std::span<const ReceivedCell>) {});
    false_switch_.port.flush(now());
    while (receive_from_attachment()) {
    }
  }
  static void check_arrived(const ReceivedCell& cell, Lid from, Lid to) {
    const auto header = header_of(cell.bytes);
    CHECK(header && header->slid == from && header->dlid == to);
    CHECK(header->partition == kDefaultPartition || to == kHostile);
    CHECK(check_cell_crc(cell.bytes, cell.crc_head_only) == CellError::kNone);
  }
  bool receive_from_attachment() {
    const std::size_t before = at_attachment_.queued_batches();
    const auto received = attachment_.receive();
    CHECK(before - at_attachment_.queued_batches() <= 1);
    if (!received) return false;
    if (received->bytes.empty()) return true;
    CHECK(received->stride != 0);
    CHECK(attachment_.lids_of(received->from).has_value() || !attachment_.is_attached());
    last_from_ = received->from;
    return true;
  }

  void check() const {
    std::uint64_t drops = 0;
    sw_.counters().visit([&](std::string_view name, std::uint64_t value) {
      if (name.starts_with("switch.drop.")) drops += value;
    });
    const auto count = [&](SwitchCounter which) { return sw_.counters()[which]; };
    CHECK(count(SwitchCounter::kRxCell) == count(SwitchCounter::kTxCell) +
                                               count(SwitchCounter::kMgmt) + sw_.waiting_cells() +
                                               drops);
    CHECK(count(SwitchCounter::kMgmt) ==
          count(SwitchCounter::kTxMgmt) + count(SwitchCounter::kTxDropMgmt));
    if (profile_ == LinkProfile::kFull) {
      CHECK(sw_.may_read(1));
    } else {
      CHECK(sw_.waiting_cells() <= ReceivedCells::kCellsMax);
      CHECK(sw_.waiting_cells() == 0 || !sw_.may_read(1));
    }
  }

  Input in_;
  const LinkProfile profile_;
  base::ManualClock clock_;
  base::SeededRandom random_{1};
  InProcessHub hub_{{.batch_queue_max = 4}};
  std::array<InProcessUnderlay*, 3> at_switch_{&hub_.add_endpoint(), &hub_.add_endpoint(),
                                               &hub_.add_endpoint()};
  InProcessUnderlay& at_hostile_ = hub_.add_endpoint();
  InProcessUnderlay& at_victim_ = hub_.add_endpoint();
  InProcessUnderlay& at_false_switch_ = hub_.add_endpoint();
  InProcessUnderlay& at_attachment_ = hub_.add_endpoint();
  Switch sw_{plan(), random_};
  End hostile_{at_hostile_, config(1, profile_), random_};
  End victim_{at_victim_, config(2, profile_), random_};
  End false_switch_{at_false_switch_, hostile_switch(profile_), random_};
  Attachment attachment_{at_attachment_, at_false_switch_.address(), config(3, profile_), clock_,
                         random_};
  PeerAddress name_, last_from_;
  bool reads_ = true;
};

}  // namespace

// Steps of one byte and more.
void switch_cells(base::Bytes in) {
  [[maybe_unused]] static const bool is_quiet = base::set_log_level("error");
  for (const auto profile : {LinkProfile::kSpeed, LinkProfile::kFull}) SwitchRun(in, profile).all();
}

}  // namespace splitnic::fuzz
