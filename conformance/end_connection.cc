// Connections of the suite's end. docs/protocol/mgmt.md, docs/protocol/channels.md#capabilities
#include <algorithm>

#include "base/parse_message.h"
#include "conformance/cells.h"
#include "conformance/end.h"
#include "conformance/messages.h"
#include "messaging/connect.pb.h"
#include "messaging/wire/idata.h"

namespace splitnic::conformance {
namespace {

using fabric::Mgmt;
using fabric::MgmtKind;

constexpr std::uint16_t kReceives = 64;
constexpr fabric::Qpn kManagementQpn{1};  // P-MGMT-1

}  // namespace

Mgmt End::mgmt(MgmtKind kind, std::uint64_t transaction) const {
  Mgmt m;
  m.kind = kind;
  m.transaction = transaction;
  m.eui64 = config_.eui64;
  m.instance = instance_;
  m.peer_eui64 = target_.eui64;
  m.peer_instance = target_.instance;
  return m;
}

void End::describe(Mgmt& m, std::string_view capabilities) {
  const bool is_separate = terms.channels == Terms::Channels::kSeparate;
  m.pair_count = 0;
  if (!is_separate || terms.connecting == 0) channels_ = {};
  for (unsigned i = 0; i < channels_.size(); ++i) {
    if (!offers(i)) continue;
    Channel& channel = channels_[i];
    channel.own = fabric::Qpn((random_.next32() & 0x7FFFFE) + 1 + i);
    channel.psn = fabric::Psn(random_.next32());
    channel.lcn = fabric::Lcn(random_.next32());
    fabric::MgmtPair& pair = m.pairs[m.pair_count++];
    pair.channel = static_cast<std::uint8_t>(i);
    pair.service = is_separate ? fabric::Service::kUc : fabric::Service::kRc;
    pair.qpn = channel.own;
    pair.start_psn = channel.psn;
    pair.start_lcn = channel.lcn;
    pair.mcp = std::min(mcp_, terms.mcp_max);
    pair.flags = terms.pair_flags;
    pair.receive_credits = kReceives;
    pair.msg_max = i == 0 ? kOwnMessageMax : 0;
  }
  put_capabilities(m, capabilities);
  agreed_.pools.clear();
}

bool End::offers(unsigned channel) const {
  switch (terms.channels) {
    case Terms::Channels::kTwo:
      return channel < 2;
    case Terms::Channels::kOne:
      return channel == 0;
    case Terms::Channels::kSeparate:
      return channel == terms.connecting;
  }
  return false;
}

void End::put_capabilities(Mgmt& m, std::string_view capabilities) {
  capabilities_ = capabilities;
  m.private_data = base::as_bytes(capabilities_);
}

void End::send_mgmt(base::Bytes payload, fabric::PartitionKey key) {
  fabric::CellHead head;
  head.header.op = fabric::Op::kMgmt;
  head.header.service = fabric::Service::kMgmt;
  head.header.dlid = target_.lid;
  head.header.slid = lid_;
  head.header.dqpn = head.header.sqpn = kManagementQpn;
  head.header.partition = key;
  send_cell(make_cell(*this, head, payload));
}

void End::send(const Mgmt& mgmt, fabric::PartitionKey key) {
  ByteVector payload(mgmt.bytes());
  fabric::emit_mgmt(payload, mgmt);
  send_mgmt(payload, key);
}

void End::take_mgmt(const Event& event) {
  if (event.mgmt.kind == MgmtKind::kDisc) {
    if (habits.replies_to_disc) send(mgmt(MgmtKind::kDiscRep, event.mgmt.transaction));
    if (event.mgmt.transaction == transaction_) is_connected_ = false;
  }
  inbox_.add(event);
}

bool End::adopt(const Mgmt& theirs) {
  const std::string in = " in " + std::string(name(theirs.kind));
  const bool names_ours = theirs.kind == MgmtKind::kConnectRep;
  unsigned joined = 0, offered = 0;
  for (unsigned i = 0; i < channels_.size(); ++i) offered |= offers(i) ? 1U << i : 0U;
  for (const fabric::MgmtPair& pair : theirs.used_pairs()) {
    if (!expect(pair.channel < 2 && pair.qpn != fabric::Qpn() && pair.mcp >= fabric::kMcpMin,
                "a queue pair for each channel" + in)) {
      return false;
    }
    Channel& channel = channels_[pair.channel];
    if (names_ours && !expect(pair.peer_qpn == channel.own, "the number of our queue pair" + in)) {
      return false;
    }
    channel.peer = pair.qpn;
    channel.service = pair.service;
    channel.mcp = std::min({mcp_, terms.mcp_max, pair.mcp});
    channel.reads_served = pair.max_dest_rd_atomic;
    channel.has_packet_crcs = (pair.flags & fabric::kPairPacketCrc) != 0;
    channel.expected_psn = pair.start_psn;
    channel.expected_lcn = pair.start_lcn;
    channel.taken.clear();
    joined |= 1U << pair.channel;
  }
  is_connected_ = joined == offered;
  namespace connect = messaging::connect;
  connect::Capabilities mine, others;
  const bool is_read = mine.ParseFromString(capabilities_) &&
                       base::parse_message(theirs.private_data, others) &&
                       !mine.msg_max().empty() && !others.msg_max().empty();
  if (!expect(is_read, "capabilities that parse, with MSG_MAX" + in)) return false;
  agreed_.message_max = std::min(mine.msg_max(0), others.msg_max(0));
  agreed_.writes_idata = others.idata_form_in() == connect::IDATA_FORM_POOL_ELEMENT;
  agreed_.reads_idata = mine.idata_form_in() == connect::IDATA_FORM_POOL_ELEMENT &&
                        others.idata_form_out() != connect::IDATA_FORM_NONE;
  return expect(is_connected_, "the channels of the request" + in);
}

std::string End::mac() const {
  std::string mac(6, '\x02');
  for (std::size_t i = 1; i < mac.size(); ++i) {
    mac[i] = static_cast<char>(config_.eui64.value >> (8 * (i - 1)) & 0xFFU);
  }
  return mac;
}

}  // namespace splitnic::conformance
