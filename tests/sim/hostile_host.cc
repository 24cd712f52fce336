#include "tests/sim/hostile_host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/endian.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame/vnet_header.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "tests/sim/sim_carrier.h"
#include "tests/support/lies.h"

namespace splitnic::sim {
namespace {

using namespace std::chrono_literals;
namespace cfg = messaging::cfg;
using messaging::CfgCode;
using support::Input;

constexpr std::size_t kKept = 64;
constexpr std::size_t kDatagramMax = 1400;
constexpr std::size_t kMessageMax = 4096;
constexpr std::size_t kChoices = 128;  // bytes of an Input

// The number of acts per thousand that lie in a message, and in an RDMA write. A connection that
// lies often ends soon, and who reaches for memory eight times is not admitted any more.
constexpr std::array<std::uint64_t, 3> kLies{1, 20, 200};
constexpr std::array<std::uint64_t, 3> kWrites{0, 1, 100};

std::string text_of(const lan::MacAddress& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

}  // namespace

fabric::Underlay::SendStatus HostileHost::Keeper::send(const fabric::PeerAddress& to,
                                                       base::Bytes bytes, std::size_t stride) {
  const base::Bytes first = bytes.first(std::min(stride, bytes.size()));
  if (kept.size() < kKept)
    kept.emplace_back(first.begin(), first.end());
  else
    kept[next_++ % kKept].assign(first.begin(), first.end());
  return below_.send(to, bytes, stride);
}

HostileHost::HostileHost(fabric::InProcessUnderlay& end, Config config, base::Clock& clock,
                         base::Random& random, bool is_quiet)
    : config_(std::move(config)),
      clock_(clock),
      random_(random),
      is_quiet_(is_quiet),
      lies_(kLies[random.below(kLies.size())]),
      writes_(kWrites[random.below(kWrites.size())]),
      keeper_(end) {
  start(true);
}

bool HostileHost::is_source_of(base::Bytes frame) {
  if (frame.size() < lan::kVnetHeaderBytes + lan::kEthernetBytes) return false;
  return base::load_be<std::uint16_t>(frame.data() + lan::kVnetHeaderBytes + 12) == kEthertype;
}

void HostileHost::start(bool with_keys) {
  if (peer_) connections_ += peer_->connections();
  peer_.reset();
  if (with_keys) {
    session_ = std::make_unique<fabric::session::KeyedUnderlay>(
        keeper_, session_of(Node::kHostile, random_, config_.stamp), clock_, random_);
    unit_ = session_->allow({config_.unit_key, {}, config_.unit}).value();
  }
  support::LyingPeerConfig peer{.eui64 = config_.eui64,
                                .profile = config_.profile,
                                .cell_bytes = config_.cell_bytes,
                                .message_bytes = kMessageMax};
  peer.pair.node_name = "hostile";
  peer_ = std::make_unique<support::LyingPeer>(*session_, peer, random_);
  peer_->join(unit_, clock_.now());
  is_started_ = false;
}

bool HostileHost::step(base::Time now) {
  bool made_progress = peer_->step(now);
  keep_attached(now);
  if (is_quiet_ || !has_attached_ || now < act_at_) return made_progress;
  for (std::uint64_t i = 1 + random_.below(4); i > 0; --i) act(now);
  act_at_ = now + std::chrono::microseconds(1 + random_.below(200));
  return true;
}

base::Time HostileHost::deadline() const {
  base::Time at = peer_->deadline();
  if (!is_quiet_ && has_attached_) at = std::min(at, act_at_);
  if (peer_->has_link() && !peer_->is_connected()) at = std::min(at, connect_at_);
  return at;
}

void HostileHost::keep_attached(base::Time now) {
  if (peer_->is_connected()) {
    if (!is_started_ && !peer_->pools.empty()) configure();
    has_attached_ = has_attached_ || is_started_;
    return;
  }
  is_started_ = false;
  if (!peer_->has_link() || now < connect_at_) return;
  connect_at_ = now + 20ms + std::chrono::milliseconds(random_.below(600));
  peer_->connect(now);
}

void HostileHost::configure() {
  is_started_ = true;
  cfg::InitNicRequest init;
  init.set_node_name("hostile");
  init.set_features_wanted(lan::kOffloadVnet);
  request(CfgCode::kInitNic, init.SerializeAsString());
  cfg::SetMacRequest mac;
  mac.set_mac(text_of(kMac));
  request(CfgCode::kSetMac, mac.SerializeAsString());
  request(CfgCode::kStart, {});
}

void HostileHost::request(CfgCode code, const std::string& data) {
  std::array<std::byte, kMessageMax> out;
  const messaging::CfgUtilRequest message{messaging::TransactionContext(++context_), code,
                                          base::as_bytes(data)};
  peer_->send(0, base::Bytes(out).first(message.emit(out)));
}

void HostileHost::act(base::Time now) {
  ++acts_;
  const std::uint64_t choice = random_.below(1000);
  if (choice < lies_) return send_lie();
  if (choice < lies_ + writes_) return write_lie();
  if (choice < 2 * lies_ + writes_) return send_raw();
  if (choice < 700) return send_frame();
  if (choice < 850) return send_cell();
  if (choice < 920) return send_init();
  if (choice < 980) return repeat();
  if (choice < 990) return flood();
  if (choice < 996 && peer_->has_link()) return peer_->connect(now);
  if (choice < 997) return session_->end_session(config_.unit_key);
  if (choice < 998) return start(random_.below(4) == 0);
  if (!peer_->has_link()) return;
  // The address of another host.
  cfg::SetMacRequest mac;
  mac.set_mac(text_of(config_.victim));
  request(CfgCode::kSetMac, mac.SerializeAsString());
  cfg::SetFilterRequest filter;
  filter.mutable_filter()->add_unicast(text_of(config_.victim));
  filter.mutable_filter()->set_promiscuous(true);
  request(CfgCode::kSetFilter, filter.SerializeAsString());
}

std::vector<std::byte> HostileHost::random_bytes(std::size_t most) {
  std::vector<std::byte> bytes(random_.below(most + 1));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random_.next32() >> 24);
  return bytes;
}

void HostileHost::send_lie() {
  const std::vector<std::byte> choices = random_bytes(kChoices);
  Input in(choices);
  std::array<std::byte, kMessageMax> out;
  const std::size_t bytes = support::Lies(in, peer_->pools).message(out);
  peer_->send(0, base::Bytes(out).first(bytes));
}

void HostileHost::write_lie() {
  const std::vector<std::byte> choices = random_bytes(kChoices);
  Input in(choices);
  const auto write =
      support::Lies(in, peer_->pools).write(messaging::IdataForm::kPoolElement, kMessageMax);
  const std::vector<std::byte> bytes(write.bytes, std::byte{0x77});
  peer_->write(write.handle, write.to, bytes, write.idata);
}

// To the LAN, to all, or to another host; from its own address or from that of the other.
void HostileHost::send_frame() {
  std::vector<std::byte> frame(lan::kVnetHeaderBytes + lan::kEthernetBytes + random_.below(1400));
  std::byte* at = frame.data() + lan::kVnetHeaderBytes;
  const std::uint64_t choice = random_.below(16);
  constexpr lan::MacAddress kAll{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  constexpr lan::MacAddress kOther{0x02, 0, 0, 0, 0, 0x0C};
  const lan::MacAddress& to = choice == 0 ? kAll : choice == 1 ? config_.victim : kOther;
  const lan::MacAddress& from = choice % 4 == 3 ? config_.victim : kMac;
  std::memcpy(at, to.data(), to.size());
  std::memcpy(at + to.size(), from.data(), from.size());
  base::store_be(at + 12, kEthertype);
  if (choice == 7) frame[random_.below(lan::kVnetHeaderBytes)] = std::byte{0xFF};
  std::array<std::byte, kMessageMax> out;
  const auto bytes = messaging::SendData{messaging::kUnsolicited, frame}.emit(out);
  if (bytes) peer_->send(0, base::Bytes(out).first(*bytes));
}

// Any bytes as a message, now and then on the channel that has none.
void HostileHost::send_raw() { peer_->send(random_.below(64) == 0 ? 1 : 0, random_bytes(400)); }

void HostileHost::put(base::Bytes datagram) {
  if (!datagram.empty()) session_->send(unit_, datagram, datagram.size());
}

void HostileHost::put_as_it_is(base::Bytes datagram) {
  if (!datagram.empty()) keeper_.send(config_.unit, datagram, datagram.size());
}

// A cell with the right CRC, for a queue pair of its connection or for any.
void HostileHost::send_cell() {
  fabric::Link* link = peer_->link();
  if (link == nullptr) return;
  std::vector<std::byte> cell = random_bytes(600);
  cell.resize(std::max<std::size_t>(base::round_up(cell.size(), 4), fabric::kCellBytesMin));
  fabric::MacHeader header = fabric::MacHeader::parse(cell.data());
  header.version = fabric::kCellVersion;
  header.slid = link->local_lid();
  header.dlid = link->remote_lid();
  header.op = static_cast<fabric::Op>(random_.below(0x19));
  header.service = random_.below(4) == 0 ? fabric::Service::kMgmt : fabric::Service::kRc;
  const fabric::Qp* qp = peer_->adapter.find_qp(peer_->qpn(random_.below(2) == 0 ? 0 : 1));
  if (qp != nullptr && random_.below(4) != 0) {
    header.dqpn = qp->attr().remote_qpn;
    header.sqpn = qp->qpn();
    header.psn = qp->requester().next_psn() + static_cast<std::uint32_t>(random_.below(4));
  }
  header.emit(cell.data());
  const std::size_t crc_at = cell.size() - fabric::kCrcBytes;
  const std::size_t head_bytes = fabric::kMacHeaderBytes + 4 * std::size_t{header.ext_words};
  const std::size_t covered =
      link->crc_head_only() ? std::min<std::size_t>(head_bytes, crc_at) : crc_at;
  base::store_be(cell.data() + crc_at, base::crc32c(base::Bytes(cell).first(covered)));
  std::vector<std::byte> flit(fabric::kFlitHeaderBytes + cell.size());
  fabric::FlitHeader flit_header;
  flit_header.ctl = fabric::kFlitSof | fabric::kFlitEof | fabric::kFlitHeaderCrcOnly;
  if (link->crc_head_only()) flit_header.ctl |= fabric::kFlitCellCrcHeadOnly;
  emit_flit(flit, flit_header, cell);
  put(flit);
}

void HostileHost::send_init() {
  fabric::Init init;
  init.step = static_cast<fabric::InitStep>(1 + random_.below(8));
  init.profile = config_.profile;
  init.program_version = 0x00010000;
  init.lanes_mask = 0x800F;
  init.mcp_max = static_cast<std::uint16_t>(4 + 4 * random_.below(400));
  init.flit_payload_max = 1420;
  init.eui64 = random_.below(2) == 0 ? config_.eui64 : config_.victim_eui64;
  init.instance = 1 + random_.below(4);
  init.nonce = random_.next();
  init.echo = random_.next();
  std::array<std::byte, fabric::kInitBytes> payload;
  emit_init(payload.data(), init);
  std::array<std::byte, fabric::kFlitHeaderBytes + fabric::kInitBytes> flit;
  fabric::FlitHeader header;
  header.type = fabric::FlitType::kInit;
  header.vl = fabric::kMgmtLane;
  emit_flit(flit, header, payload);
  put(flit);
}

// A datagram that was sent: as it was, or with a byte that is another, or shorter.
void HostileHost::repeat() {
  if (keeper_.kept.empty()) return;
  std::vector<std::byte> datagram = keeper_.kept[random_.below(keeper_.kept.size())];
  const std::uint64_t choice = random_.below(4);
  if (choice == 0) datagram[random_.below(datagram.size())] ^= std::byte{1};
  if (choice == 1) datagram.resize(random_.below(datagram.size()));
  put_as_it_is(datagram);
}

void HostileHost::flood() {
  for (std::uint64_t i = random_.below(64); i > 0; --i) {
    const std::uint64_t choice = random_.below(4);
    if (choice == 0)
      put_as_it_is(random_bytes(kDatagramMax));
    else if (choice == 1)
      put(random_bytes(kDatagramMax));
    else
      send_init();
  }
}

}  // namespace splitnic::sim
