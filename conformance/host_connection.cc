// Connections of the suite's host. docs/protocol/mgmt.md, docs/protocol/channels.md#capabilities
#include <algorithm>

#include "conformance/host.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/connect.pb.h"
#include "messaging/wire/idata.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Mgmt;
using fabric::MgmtKind;

constexpr std::uint32_t kMessageMax = 4096;
constexpr std::uint32_t kDataMessageMax = 65536;
constexpr std::uint16_t kReceives = 64;
constexpr std::uint64_t kFeatureVnet = 1U << 6;
constexpr base::Duration kAskEvery = 100ms;
constexpr std::uint64_t kPoolAddress = 0x7F0012340000;
constexpr std::uint32_t kPoolHandle = 0x2A01;

}  // namespace

Mgmt Host::mgmt(MgmtKind kind, std::uint64_t transaction) const {
  Mgmt m;
  m.kind = kind;
  m.transaction = transaction;
  m.eui64 = config_.eui64;
  m.instance = instance_;
  m.peer_eui64 = target_eui64_;
  m.peer_instance = target_instance_;
  return m;
}

std::string Host::capabilities() const {
  messaging::connect::Capabilities mine;
  mine.set_mode(messaging::connect::MODE_RDMA);
  mine.set_version_lowest(1);
  mine.set_version_highest(1);
  mine.add_msg_max(kMessageMax);
  mine.add_msg_max(kDataMessageMax);
  mine.set_idata_form_in(static_cast<messaging::connect::IdataForm>(config_.idata_form_in));
  mine.set_idata_form_out(messaging::connect::IDATA_FORM_POOL_ELEMENT);
  mine.set_node_name("conform");
  mine.set_queues(1);
  return mine.SerializeAsString();
}

Mgmt Host::request(std::string_view capabilities) {
  capabilities_ = capabilities;
  transaction_ = random_.next() ^ config_.process;
  Mgmt m = mgmt(MgmtKind::kConnectReq, transaction_);
  m.pair_count = channels_.size();
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& channel = channels_[i];
    channel = Channel{};
    channel.own = fabric::Qpn(static_cast<std::uint32_t>((random_.next32() & 0x7FFFFE) + 1 + i));
    channel.psn = fabric::Psn(random_.next32());
    channel.lcn = fabric::Lcn(random_.next32());
    fabric::MgmtPair& pair = m.pairs[i];
    pair.channel = static_cast<std::uint8_t>(i);
    pair.qpn = channel.own;
    pair.start_psn = channel.psn;
    pair.start_lcn = channel.lcn;
    pair.mcp = mcp_;
    pair.receive_credits = kReceives;
    pair.msg_max = i == 0 ? kMessageMax : 0;
  }
  m.private_data = base::as_bytes(capabilities_);
  pools_.clear();
  return m;
}

void Host::put_capabilities(Mgmt& request, std::string_view capabilities) {
  capabilities_ = capabilities;
  request.private_data = base::as_bytes(capabilities_);
}

void Host::send_mgmt(base::Bytes payload) {
  fabric::CellHead head;
  head.header.op = fabric::Op::kMgmt;
  head.header.service = fabric::Service::kMgmt;
  head.header.dlid = target_lid_;
  head.header.slid = lid_;
  send_cell(make(head, payload));
}

void Host::send(const Mgmt& mgmt) {
  ByteVector payload(mgmt.bytes());
  fabric::emit_mgmt(payload, mgmt);
  send_mgmt(payload);
}

bool Host::adopt(const Mgmt& reply) {
  unsigned joined = 0;
  for (const fabric::MgmtPair& pair : reply.used_pairs()) {
    if (!expect(pair.channel < 2 && pair.qpn != fabric::Qpn() && pair.mcp >= fabric::kMcpMin,
                "a queue pair for each channel in CONNECT_REP")) {
      return false;
    }
    Channel& channel = channels_[pair.channel];
    if (!expect(pair.peer_qpn == channel.own, "the number of our queue pair in CONNECT_REP")) {
      return false;
    }
    channel.peer = pair.qpn;
    channel.service = pair.service;
    channel.mcp = std::min(mcp_, pair.mcp);
    channel.reads_served = pair.max_dest_rd_atomic;
    channel.expected_psn = pair.start_psn;
    channel.expected_lcn = pair.start_lcn;
    joined |= 1U << pair.channel;
  }
  is_connected_ = joined == 3;
  namespace connect = messaging::connect;
  connect::Capabilities mine, theirs;
  const bool is_read = mine.ParseFromString(capabilities_) &&
                       theirs.ParseFromArray(reply.private_data.data(),
                                             static_cast<int>(reply.private_data.size())) &&
                       !mine.msg_max().empty() && !theirs.msg_max().empty();
  if (!expect(is_read, "capabilities that parse, with MSG_MAX, in CONNECT_REP")) return false;
  message_max_ = std::min(mine.msg_max(0), theirs.msg_max(0));
  writes_idata_ = theirs.idata_form_in() == connect::IDATA_FORM_POOL_ELEMENT;
  return expect(is_connected_, "both channels in CONNECT_REP");
}

std::optional<Event> Host::ask(Mgmt& request) {
  for (const base::Time until = now() + 5 * config_.timeout;; listen(kAskEvery)) {
    send(request);
    auto event = await(EventKind::kMgmt, "a reply to CONNECT_REQ");
    const bool is_limited = event && event->mgmt.kind == MgmtKind::kConnectRej &&
                            event->mgmt.reject == fabric::MgmtReject::kNoResources;
    if (!is_limited || now() >= until) return event;
    request.transaction = transaction_ = random_.next() ^ config_.process;
  }
}

bool Host::connect() {
  Mgmt request = this->request(capabilities());
  const auto event = ask(request);
  if (!event) return false;
  const Mgmt& reply = event->mgmt;
  if (reply.kind == MgmtKind::kConnectRej) {
    outcome_.reject("a connection", last_received());
    return false;
  }
  if (!expect(reply.kind == MgmtKind::kConnectRep && reply.transaction == transaction_,
              "CONNECT_REP of our transaction") ||
      !adopt(reply)) {
    return false;
  }
  send(mgmt(MgmtKind::kConnectRtu, transaction_));
  return is_good();
}

messaging::PoolRecord Host::own_pool() const {
  return {messaging::PoolRef(0),
          config_.pool_elements,
          config_.pool_element_bytes,
          fabric::MemoryHandle(kPoolHandle),
          fabric::VirtualAddress(kPoolAddress),
          0};
}

bool Host::advertise() {
  const messaging::PoolRecord record = own_pool();
  std::array<std::byte, messaging::BufferRecvPool::bytes(1)> message{};
  messaging::BufferRecvPool::emit(messaging::kUnsolicited, std::span(&record, 1), message);
  send_message(message);
  return await_message(messaging::Function::kBufferRecvPool, "BufferRecvPool of the target")
      .has_value();
}

bool Host::attach() { return link() && connect() && advertise(); }

std::string Host::mac() const {
  std::string mac(6, '\x02');
  for (std::size_t i = 1; i < mac.size(); ++i) {
    mac[i] = static_cast<char>(config_.eui64.value >> (8 * (i - 1)) & 0xFFU);
  }
  return mac;
}

bool Host::start_nic() {
  messaging::cfg::InitNicRequest init_nic;
  init_nic.set_node_name("conform");
  init_nic.set_features_wanted(kFeatureVnet);
  messaging::cfg::SetMacRequest set_mac;
  set_mac.set_mac(mac());
  const std::array<std::pair<messaging::CfgCode, std::string>, 3> requests{
      {{messaging::CfgCode::kInitNic, init_nic.SerializeAsString()},
       {messaging::CfgCode::kSetMac, set_mac.SerializeAsString()},
       {messaging::CfgCode::kStart, {}}}};
  for (const auto& [code, data] : requests) {
    const auto reply = request(code, data);
    const std::string expected = std::string(name(code)) + " OK";
    if (!expect(reply && reply->status == messaging::CfgStatus::kOk, expected)) return false;
  }
  return true;
}

// Whatever became of the case: the target has nothing of it any more.
void Host::leave() {
  if (target_instance_ == 0 || (line_.is_keyed() && !line_.session().has_keys())) return;
  Outcome other;
  Host last(line_, config_, random_, other);
  last.instance_ = instance_;
  last.target_instance_ = target_instance_;
  last.target_eui64_ = target_eui64_;
  last.lid_ = lid_;
  last.target_lid_ = target_lid_;
  if (is_connected_) last.send(last.mgmt(MgmtKind::kDisc, transaction_));
  last.send(last.init(fabric::InitStep::kBye));
}

}  // namespace splitnic::conformance
