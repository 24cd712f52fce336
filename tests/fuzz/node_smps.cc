// A hostile switch, or a node in its place, at the other end of the link of an attached node: SMPs
// of any bytes, and well-formed ones with any numbers; changed, cut off, or in cells of other LIDs
// and queue pairs; other instances, which offer a LID or none; time. Whatever comes, each cell is
// counted once, and an SMP of the switch as one that got a reply or that was dropped. The LID of
// the node is that of INIT, whatever an SMP sets; without one it is what the last valid SET of PORT
// gave since the switch is there, or none. A reply has what its request asks for and takes the way
// back. Other cells, and cells of a node, change nothing and get no reply.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "fabric_emul/link/link_observer.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/link/port_config.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/queue_lid.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/port_lids.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_lids.h"
#include "tests/fuzz/targets.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace std::chrono_literals;
using support::Input;

constexpr int kNodeSmpsStepsMax = 48;
constexpr char kNodeName[] = "victim";
constexpr Eui64 kNodeEui(3), kSwitchEui(200);
constexpr std::uint64_t kFirstInstance = 200;
constexpr Lid kSwitchLid(1), kNodeLid(12);
constexpr std::array kNodeSmpsLids{kNodeLid,
                                   kSwitchLid,
                                   Lid(16),
                                   Lid(300),
                                   lid_of_queue(kNodeLid, 1),
                                   lid_of_queue(Lid(16), 1),
                                   Lid(kPortLidMax),
                                   Lid(kPortLidMax + 1),
                                   Lid(0)};
constexpr Qpn kOtherQpn(3);  // none of the services of the fabric

PortConfig port_config(Eui64 eui64, std::uint64_t instance, LinkProfile profile) {
  PortConfig out;
  out.eui64 = eui64;
  out.instance = instance;
  out.profile = profile;
  out.full = full_between_processes();
  return out;
}

// Whether a node replies to this SMP. docs/protocol/subnet.md#end-nodes
bool has_reply(const Smp& smp) {
  if (smp.hop == 0 || smp.hop != smp.route.hops) return false;
  if (smp.attribute == SmpAttribute::kNode) return smp.method == SmpMethod::kGet;
  return smp.attribute == SmpAttribute::kPort && smp.method == SmpMethod::kSet;
}

// The other end: a plain port, which keeps the SMPs that come.
class OtherEnd final : private LinkObserver {
 public:
  OtherEnd(Underlay& at, const PortConfig& config, base::Random& random)
      : port_(at, config, random, *this) {}

  void run(base::Time now) {
    port_.on_time(now);
    port_.receive(now, 64, [this](Link&, std::span<const ReceivedCell> cells) {
      for (const ReceivedCell& cell : cells) take(cell);
    });
    port_.flush(now);
  }
  void send_bye(base::Time now) { port_.send_bye(now); }
  // Null before the node has come.
  Link* link() { return link_; }

  std::vector<std::vector<std::byte>> smps;

 private:
  void on_link_up(Link& up) override { link_ = &up; }
  void on_link_down(Link& /*link*/, std::string_view /*why*/) override {}
  void on_peer_restarted(Link& /*link*/) override {}

  // Besides its replies the node asks for names and the like, once it has a LID.
  void take(const ReceivedCell& cell) {
    const auto header = header_of(cell.bytes);
    CHECK(header && header->dlid == kSwitchLid);
    if (header->dqpn != kSubnetQpn) {
      CHECK(payload_of_path_cell(cell.bytes, kSwitchQpn, cell.crc_head_only).has_value());
      return CHECK(header->slid != Lid());
    }
    const auto smp = payload_of_path_cell(cell.bytes, kSubnetQpn, cell.crc_head_only);
    CHECK(smp.has_value() && header->slid == Lid());
    smps.emplace_back(smp->begin(), smp->end());
  }

  Link* link_ = nullptr;
  Port port_;
};

class NodeSmpsRun {
 public:
  explicit NodeSmpsRun(base::Bytes bytes) : in_(bytes), config_(in_.u8()) {
    start_other_end(config_);
    for (int i = 0; i < 20; ++i) run();
    CHECK(attachment_.link().up());
    check();
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kNodeSmpsStepsMax; ++steps) {
      step();
      run();
      check();
    }
  }

 private:
  // An instance of the other end. LID 0: the manager is to give one.
  struct Instance {
    bool is_switch = true;
    Lid offered;
  };
  struct Counts {
    std::uint64_t cells = 0;  // of the node, that came
    std::uint64_t replied = 0;
    std::uint64_t dropped = 0;  // SMPs
  };

  base::Time now() { return clock_.now(); }
  LinkProfile profile() const {
    return (config_ & 4U) != 0 ? LinkProfile::kFull : LinkProfile::kSpeed;
  }
  std::uint32_t queue() const { return (config_ & 8U) != 0 ? 1 : 0; }

  void step() {
    const std::uint8_t choice = in_.u8();
    switch (choice % 8) {
      case 0:
        return send(in_.bytes(255));
      case 6:
        return clock_.advance(1ms * (choice >> 3) * (choice >> 3));
      case 7:
        return restart(choice >> 3);
      default:
        return send_smp();
    }
  }
  void start_other_end(unsigned choice) {
    Instance next;
    if (choice % 4 == 1 || choice % 4 == 2) next.offered = lid_of_queue(kNodeLid, queue());
    next.is_switch = choice % 4 != 2;
    PortConfig config = port_config(kSwitchEui, kFirstInstance + instances_.size(), profile());
    config.listens = true;
    config.number = next.is_switch ? 7 : 0;
    config.lids = [offered = next.offered](const PeerAddress&) {
      return LinkLids{kSwitchLid, offered};
    };
    instances_.push_back(next);
    other_.emplace(at_other_, config, random_);
  }
  // With BYE or without. The time that passes is enough for the node to notice.
  void restart(unsigned choice) {
    if ((choice & 4U) != 0) other_->send_bye(now());
    start_other_end(choice);
    for (int i = 0; i < 12; ++i) {
      clock_.advance(100ms);
      run();
    }
  }

  // An SMP of the manager, GET of NODE or SET of PORT, unless the input changes it.
  void send_smp() {
    const std::uint8_t what = in_.u8();
    Smp smp;
    smp.method = (what & 1U) != 0 ? SmpMethod::kSet : SmpMethod::kGet;
    smp.attribute = (what & 1U) != 0 ? SmpAttribute::kPort : SmpAttribute::kNode;
    smp.manager = {kSwitchLid, 5};
    smp.transaction = 77;
    smp.route.ports[0] = 3;
    smp.route.hops = smp.hop = 1;
    if ((what & 2U) != 0) {
      smp.method = static_cast<SmpMethod>(1 + in_.below(4));
      smp.attribute = static_cast<SmpAttribute>(1 + in_.below(7));
    }
    if ((what & 4U) != 0) set_route(smp);
    if ((what & 8U) != 0) {
      smp.manager = {in_.one_of(kNodeSmpsLids), in_.u8()};
      smp.transaction = in_.u64();
      smp.is_cut_off = in_.flag();
    }
    std::array<std::byte, kSmpPortBodyBytes> body;
    if (smp.attribute == SmpAttribute::kPort &&
        (smp.method == SmpMethod::kSet || smp.method == SmpMethod::kReply)) {
      smp.body = base::Bytes(body).first(emit_smp_port(body, port_lids((what & 16U) != 0)));
    }
    std::array<std::byte, kSmpBytesMax> bytes;
    std::size_t size = emit_smp(bytes, smp);
    if ((what & 32U) != 0) {
      const std::size_t at = in_.below(size);
      bytes[at] ^= std::byte{in_.u8()};
    }
    if ((what & 64U) != 0) size = in_.below(size + 1);
    send(base::Bytes(bytes).first(size));
  }
  void set_route(Smp& smp) {
    smp.route.hops = static_cast<std::uint8_t>(in_.below(kSmpHopsMax + 1));
    smp.hop = smp.route.hops;
    if (in_.flag()) smp.hop = static_cast<std::uint8_t>(in_.below(smp.route.hops + 1U));
    for (std::size_t i = 0; i < smp.route.hops; ++i) {
      smp.route.ports[i] = static_cast<std::uint8_t>(1 + in_.below(kSmpPortsMax));
    }
  }
  PortLids port_lids(bool are_any) {
    if (are_any) return {Lid(in_.u16()), in_.u8()};
    return {in_.one_of(kNodeSmpsLids), static_cast<std::uint8_t>(in_.below(kLmcMax + 2U))};
  }

  // In a cell from the switch to the agent, unless the input changes it.
  void send(base::Bytes smp) {
    if (!is_up()) return;
    Link& link = *other_->link();
    const std::uint8_t what = in_.u8();
    CellHead head;
    head.header.op = Op::kMgmt;
    head.header.service = Service::kMgmt;
    head.header.slid = (what & 1U) != 0 ? in_.one_of(kNodeSmpsLids) : kSwitchLid;
    head.header.dlid = (what & 2U) != 0 ? in_.one_of(kNodeSmpsLids) : Lid();
    head.header.dqpn = (what & 4U) != 0 ? kOtherQpn : kSubnetQpn;
    head.header.sqpn = head.header.dqpn;
    const base::MutableBytes room = link.reserve(cell_bytes(head, smp.size()), kMgmtLane);
    if (room.empty()) return;
    const std::size_t size = emit_cell(room, head, smp, link.crc_head_only());
    std::byte change{};
    if ((what & 8U) != 0) {
      const std::size_t at = in_.below(size);
      change = std::byte{in_.u8()};
      room[at] ^= change;
    }
    link.commit(size);
    const bool is_for_agent = head.header.slid == kSwitchLid && head.header.dlid == Lid() &&
                              head.header.dqpn == kSubnetQpn && change == std::byte{} &&
                              instance().is_switch;
    check_taken(smp, is_for_agent);
  }
  // Whether a cell that the other end writes arrives.
  bool is_up() {
    return other_->link() != nullptr && other_->link()->up() && attachment_.link().up() &&
           attachment_.link().peer_instance() == kFirstInstance + instances_.size() - 1;
  }

  // The cell that was written last is counted once, and gets the reply that it is to get.
  void check_taken(base::Bytes smp, bool is_for_agent) {
    const Counts before = counts();
    run();
    const Counts after = counts();
    Smp request;
    const bool is_served =
        is_for_agent && parse_smp(smp, request) == SmpError::kNone && has_reply(request);
    CHECK(after.cells == before.cells + 1);
    CHECK(after.replied == before.replied + (is_served ? 1U : 0U));
    CHECK(after.dropped == before.dropped + (is_for_agent && !is_served ? 1U : 0U));
    CHECK(other_->smps.size() == (is_served ? 1U : 0U));
    if (is_served) check_reply(request, other_->smps.front());
    other_->smps.clear();
  }
  void check_reply(const Smp& request, base::Bytes bytes) {
    Smp reply;
    CHECK(parse_smp(bytes, reply) == SmpError::kNone);
    CHECK(reply.method == SmpMethod::kReply && reply.attribute == request.attribute);
    CHECK(reply.transaction == request.transaction && reply.manager == request.manager);
    SmpRoute route = request.route;
    route.ports[route.hops - 1U] = 1;  // it came in by the only port
    CHECK(reply.route == route.reversed() && reply.hop == 1 && !reply.is_cut_off);
    if (request.attribute == SmpAttribute::kNode) return check_node(reply);
    PortLids wanted, taken;
    CHECK(parse_smp_port(request.body, wanted) == SmpError::kNone);
    const bool may_be = is_valid(wanted) && instance().offered == Lid();
    if (may_be) given_ = wanted;
    CHECK(reply.status == (may_be ? SmpStatus::kDone : SmpStatus::kBad));
    CHECK(parse_smp_port(reply.body, taken) == SmpError::kNone && taken == given_);
  }
  void check_node(const Smp& reply) {
    SmpNode node, expected;
    CHECK(reply.status == SmpStatus::kDone);
    CHECK(parse_smp_node(reply.body, node) == SmpError::kNone);
    expected.lid = lid();
    expected.name = kNodeName;
    expected.eui64 = kNodeEui;
    expected.port_count = 1;
    expected.ports[0] = {1, lid() == Lid() ? SmpNode::PortState::kUnset : SmpNode::PortState::kUp,
                         kSwitchLid, kSwitchEui};
    CHECK(node == expected);
  }

  void run() {
    for (int i = 0; i < 4; ++i) {
      other_->run(now());
      while (attachment_.receive()) {
      }
    }
    other_->run(now());
  }
  void check() {
    const Link& link = attachment_.link();
    if (link.peer_instance() != last_instance_) given_ = {};
    last_instance_ = link.peer_instance();
    CHECK(link.local_lid() == instance().offered && other_->smps.empty());
    const PortLids own = attachment_.own_lids();
    CHECK(own.base == lid() && (own.base == Lid() || is_valid(own)));
    const bool is_of_queue = queue() == 0 || queue_of(own.base) == queue();
    CHECK(attachment_.is_attached() ==
          (link.up() && instance().is_switch && own.base != Lid() && is_of_queue));
  }
  Counts counts() const {
    Counts out;
    attachment_.counters().visit([&](std::string_view name, std::uint64_t value) {
      if (name.starts_with("path.rx.") || name == "path.smp") out.cells += value;
    });
    out.replied = attachment_.counters()[AttachmentCounter::kSmp];
    out.dropped = attachment_.counters()[AttachmentCounter::kRxDropSmp];
    return out;
  }
  // The one that the node has its link to.
  const Instance& instance() const {
    return instances_.at(attachment_.link().peer_instance() - kFirstInstance);
  }
  Lid lid() const { return instance().offered != Lid() ? instance().offered : given_.base; }

  Input in_;
  const std::uint8_t config_;
  base::ManualClock clock_;
  base::SeededRandom random_{1};
  InProcessHub hub_{{.batch_queue_max = 64}};
  InProcessUnderlay& at_other_ = hub_.add_endpoint();
  InProcessUnderlay& at_node_ = hub_.add_endpoint();
  std::vector<Instance> instances_{};
  std::optional<OtherEnd> other_;
  Attachment attachment_{at_node_,
                         at_other_.address(),
                         port_config(kNodeEui, 1, profile()),
                         clock_,
                         random_,
                         queue(),
                         PartitionTable(),
                         kNodeName};
  std::uint64_t last_instance_ = kFirstInstance;
  PortLids given_{};  // by SET of PORT, to this node
};

}  // namespace

// Steps of one byte and more.
void node_smps(base::Bytes in) {
  [[maybe_unused]] static const bool is_quiet = base::set_log_level("error");
  NodeSmpsRun(in).all();
}

}  // namespace splitnic::fuzz
