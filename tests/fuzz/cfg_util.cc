// CfgUtil requests of two hosts of one NIC, from the bytes of the message to the reply: each code,
// with the fields that it has and values near the limits, with other fields, and with any bytes.
// The LAN uses addresses meanwhile. Whatever comes, a request gets one reply, of its context and
// code; a refusal changes nothing; a repeated request changes nothing more; the settings keep to
// the rights of their host; no two hosts have one address; and the real NIC stays as it is.
#include "iou_module/nic/nic_service.h"

#include <algorithm>

#include "base/log.h"
#include "lan_bridge/frame/mtu.h"
#include "messaging/cfgutil/cfg_exchange.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/message_dispatch.h"
#include "tests/fuzz/targets.h"
#include "tests/sim/fake_port.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace messaging;
using namespace std::chrono_literals;
using iou::AttachedHost;
using iou::HostRights;
using lan::MacAddress;
using support::Input;

constexpr int kCfgUtilStepsMax = 64;
constexpr std::uint32_t kLanMtu = 9000;
constexpr MacAddress kNicMac{0x02, 0, 0, 0, 0, 0xE0};
constexpr std::uint32_t kOffered = lan::kOffloadChecksum | lan::kOffloadTso4 | lan::kOffloadTso6 |
                                   lan::kOffloadUso | lan::kOffloadVlan | lan::kOffloadVnet;

MacAddress mac_number(std::size_t number) {
  return {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(number)};
}
std::string bytes_of(const MacAddress& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

// Host 0 has an address, VLANs and few others; host 1 has what the input gives.
struct Rights final : iou::RightsSource {
  explicit Rights(unsigned config) {
    of[0].macs = {mac_number(1)};
    of[0].mac_count = 2;
    of[0].vlans = iou::VlanSet();
    of[0].vlans->set(0).set(10).set(20);
    if ((config & 1U) != 0) of[0].pvid = 10;
    of[1].macs = {mac_number(2)};
    of[1].may_sniff = (config & 2U) != 0;
    of[1].may_forge = (config & 4U) != 0;
    if ((config & 8U) != 0) of[1].sl = 3;
  }
  HostRights rights_of(const fabric::Link& link) const override { return of[link.slot()]; }
  bool is_of_another(const MacAddress& mac, const fabric::Link& link) const override {
    return std::ranges::find(of[1 - link.slot()].macs, mac) != of[1 - link.slot()].macs.end();
  }
  std::array<HostRights, 2> of;
};

struct Owner final : iou::HostOwner {
  void on_host_up(AttachedHost&) override {}
  void on_host_down(AttachedHost&, const std::string&) override {}
  CfgReply on_cfg_request(AttachedHost&, const CfgRequest&) override { return {}; }
};

// The way of a request of one host: messages in, replies out.
class Server final : public MessageHandler {
 public:
  Server(iou::NicService& service, AttachedHost& host) : service_(service), host_(host) {}

  // Returns the reply, if the message is a request and gets one.
  std::optional<CfgUtilReply> take(base::Bytes message, base::Time now) {
    executed = 0;
    static_cast<void>(dispatch_.dispatch(message, now));
    const std::size_t length = cfg_.next_message(now, out_);
    if (length == 0) return std::nullopt;
    CHECK(length <= kMsgMaxControl);
    const auto reply = CfgUtilReply::parse(base::Bytes(out_).first(length));
    CHECK(reply.has_value() && cfg_.next_message(now, out_) == 0);
    return *reply;
  }
  int executed = 0;  // requests of the last message

 private:
  Verdict on_cfg_util_request(const CfgUtilRequest& message) override {
    const bool is_taken = cfg_.on_request(message, [this](const CfgRequest& request) {
      ++executed;
      return service_.serve(host_, request);
    });
    CHECK(is_taken);
    return {};
  }
  void on_cfg_util_refused(const CfgUtilRefusal& refusal) override {
    CHECK(cfg_.on_refused(refusal));
  }
  Verdict on_cfg_util_reply(const CfgUtilReply& message) override { return cfg_.on_reply(message); }
  Verdict on_buffer_recv_pool(const BufferRecvPool&) override { return {}; }
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet&) override { return {}; }
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate&) override { return {}; }
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest&) override { return {}; }
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply&) override { return {}; }
  Verdict on_send_data(const SendData&) override { return {}; }
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate&, base::Time) override { return {}; }

  iou::NicService& service_;
  AttachedHost& host_;
  ContextSource contexts_{1};
  CfgExchange cfg_{contexts_, kMsgMaxControl};
  DropCounters drops_;
  MessageDispatch dispatch_{MessageDispatch::Channel::kControl, kMsgMaxControl, *this, drops_};
  std::vector<std::byte> out_ = std::vector<std::byte>(kMsgMaxControl);
};

class CfgRun {
 public:
  explicit CfgRun(base::Bytes bytes) : in_(bytes), rights_(in_.u8()), pair_(options()) {
    lan_.mutable_state().mtu = kLanMtu;
    hosts_.set_time(now_);
    for (std::size_t i = 0; i < 2; ++i) {
      iou::AttachedHostConfig config;
      config.frames_max = 64;
      config.rights = rights_.of[i];
      auto host = std::make_unique<AttachedHost>(config, *pair_.a().adapter, pair_.a().link(i),
                                                 random_, owner_, now_);
      host->nic().mtu = kLanMtu;
      host->nic().vlans.set_pvid(host->allowance().vlans().pvid_default());
      hosts_.add(std::move(host));
      servers_.push_back(std::make_unique<Server>(service_, hosts_[i]));
    }
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kCfgUtilStepsMax; ++steps) {
      step(in_.u8());
      check();
    }
  }

 private:
  static fabric::testing::PairOptions options() {
    fabric::testing::PairOptions out;
    out.ends = 3;
    out.cq_depth = 16;
    return out;
  }

  void step(unsigned choice) {
    if (choice % 16 == 15) {
      now_ += 1s * (choice >> 4) * 20;
      return hosts_.set_time(now_);
    }
    if (choice % 16 == 14) return hosts_.on_lan_address(mac_number(choice >> 4));
    ask(choice & 1U, choice >> 1);
  }
  std::string digest(std::size_t host) const { return hosts_[host].nic().state().digest(); }

  void ask(std::size_t host, unsigned choice) {
    if (hosts_[host].has_ended()) return;  // another one has got its address
    std::array<std::byte, 1024> out;
    const std::vector<std::byte> message = make_request(choice, out);
    const std::string before = digest(0) + digest(1);
    const bool was_started = hosts_[host].nic().started;
    const auto reply = servers_[host]->take(message, now_);
    const auto header = MessageHeader::parse(message);
    CHECK(header.has_value() && reply.has_value() && reply->context == header->context);
    const int executed = servers_[host]->executed;
    CHECK(executed <= 1 && name(reply->status) != "unknown");
    if (reply->status != CfgStatus::kOk || executed == 0) {
      CHECK(digest(0) + digest(1) == before && hosts_[host].nic().started == was_started);
    }
  }
  std::vector<std::byte> make_request(unsigned choice, base::MutableBytes out) {
    constexpr std::array kCodes{CfgCode::kInitNic,     CfgCode::kSetMac,   CfgCode::kSetFilter,
                                CfgCode::kSetMtu,      CfgCode::kStart,    CfgCode::kStop,
                                CfgCode::kVlanAdd,     CfgCode::kVlanDel,  CfgCode::kSetPvid,
                                CfgCode::kSetOffloads, CfgCode::kGetStats, CfgCode::kReset,
                                CfgCode::kSetFilter,   CfgCode::kGetState, CfgCode::kEcho};
    // The requests about the delivery of frames, and the list of NICs.
    constexpr std::array kDelivery{CfgCode::kSetQueues, CfgCode::kSetCoalesce, CfgCode::kSetQos,
                                   CfgCode::kListNics};
    CfgCode code = kCodes[choice % kCodes.size()];
    std::string data;
    if (choice >= 90 && choice < 105) code = kDelivery[choice % kDelivery.size()];
    if (choice < 105) {
      data = fields(code);
    } else {
      code = static_cast<CfgCode>(0x10000U + (in_.u8() & 1U) * 0x10000U + in_.u8() % 18);
      data = std::string(base::as_text(in_.bytes(250)));
    }
    const TransactionContext context(1 + in_.u8() % 128);
    const std::size_t length = CfgUtilRequest{context, code, base::as_bytes(data)}.emit(out);
    std::vector<std::byte> message(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length));
    const std::uint8_t change = in_.u8();
    if (change >= 240)
      message[kHeaderBytes + in_.below(length - kHeaderBytes)] ^= std::byte{in_.u8()};
    if (change >= 250) message.resize(kHeaderBytes + in_.below(length - kHeaderBytes));
    return message;
  }
  MacAddress some_mac() {
    const std::uint8_t choice = in_.u8();
    if (choice == 255) return kNicMac;
    if (choice == 254) return {0x33, 0x33, 0, 0, 0, 1};
    return mac_number(choice % 12);
  }
  std::string fields(CfgCode code) {
    switch (code) {
      case CfgCode::kInitNic: {
        cfg::InitNicRequest ask;
        ask.set_node_name("x");
        ask.set_features_wanted(lan::kOffloadVnet ^ std::uint64_t{in_.u8()});
        return ask.SerializeAsString();
      }
      case CfgCode::kSetMac: {
        cfg::SetMacRequest ask;
        ask.set_mac(bytes_of(some_mac()));
        return ask.SerializeAsString();
      }
      case CfgCode::kSetFilter:
        return filter();
      case CfgCode::kSetMtu: {
        cfg::SetMtuRequest ask;
        ask.set_mtu(in_.flag() ? in_.u16() : in_.u32());
        return ask.SerializeAsString();
      }
      case CfgCode::kVlanAdd:
      case CfgCode::kVlanDel:
      case CfgCode::kSetPvid: {
        cfg::VlanAddRequest ask;
        constexpr std::array<std::uint32_t, 6> kIds{0, 10, 20, 30, 4094, 4095};
        ask.set_vlan_id(in_.flag() ? in_.u16() : in_.one_of(kIds));
        return ask.SerializeAsString();
      }
      case CfgCode::kSetOffloads: {
        cfg::SetOffloadsRequest ask;
        ask.set_mask(in_.u8());
        return ask.SerializeAsString();
      }
      case CfgCode::kSetQueues: {
        cfg::SetQueuesRequest ask;
        ask.set_queues(in_.flag() ? in_.u32() : in_.u8());
        return ask.SerializeAsString();
      }
      case CfgCode::kSetCoalesce:
        return coalescing();
      case CfgCode::kSetQos:
        return service_levels();
      case CfgCode::kGetStats: {
        cfg::GetStatsRequest ask;
        ask.set_group(in_.flag() ? "basic" : "rmon");
        return ask.SerializeAsString();
      }
      default:
        return {};
    }
  }
  std::string coalescing() {
    cfg::SetCoalesceRequest ask;
    const std::uint8_t choice = in_.u8();
    ask.set_microseconds((choice & 1U) != 0 ? in_.u32() : in_.u8());
    ask.set_frames((choice & 2U) != 0 ? in_.u32() : in_.u8());
    ask.set_bytes((choice & 4U) != 0 ? in_.u32() : in_.u16());
    ask.set_adaptive((choice & 8U) != 0);
    return ask.SerializeAsString();
  }
  // Mostly of the right length, with one level in several places.
  std::string service_levels() {
    cfg::SetQosRequest ask;
    const std::uint8_t choice = in_.u8();
    const auto field = [this](std::size_t size) {
      std::string levels(size, '\xFF');
      for (std::size_t i = in_.below(6); i > 0 && size > 0; --i) {
        levels[in_.below(size)] = static_cast<char>(in_.u8() % 18);
      }
      return levels;
    };
    if ((choice & 1U) != 0) ask.set_priorities(field((choice & 2U) != 0 ? in_.u8() : 8));
    if ((choice & 4U) != 0) ask.set_code_points(field((choice & 8U) != 0 ? in_.u8() : 64));
    return ask.SerializeAsString();
  }
  std::string filter() {
    cfg::SetFilterRequest ask;
    cfg::Filter& f = *ask.mutable_filter();
    const std::uint8_t choice = in_.u8();
    for (std::size_t i = choice % 5; i > 0; --i) f.add_unicast(bytes_of(some_mac()));
    for (std::size_t i = choice >> 3 & 3U; i > 0; --i) {
      f.add_multicast(bytes_of({0x01, 0, 0x5E, 0, 0, in_.u8()}));
    }
    f.set_promiscuous((choice & 32U) != 0);
    f.set_all_multicast((choice & 64U) != 0);
    f.set_no_unicast((choice & 128U) != 0);
    return ask.SerializeAsString();
  }

  void check() {
    for (std::size_t i = 0; i < 2; ++i) check_rights(hosts_[i]);
    for (std::size_t number = 0; number < 12; ++number) {
      const MacAddress mac = mac_number(number);
      const bool both = hosts_[0].nic().owns(mac) && hosts_[1].nic().owns(mac);
      CHECK(!both || hosts_[0].has_ended() || hosts_[1].has_ended());
    }
    CHECK(lan_.state().mac == kNicMac && lan_.state().mtu == kLanMtu && lan_.mtu_calls == 0);
    CHECK(!lan_.state().promiscuous);
  }
  static void check_rights(const AttachedHost& host) {
    const iou::NicSettings& nic = host.nic();
    const HostRights& rights = host.rights();
    CHECK(iou::AddressPolicy::excess(host, nic) == 0);
    CHECK(rights.may_forge || !nic.owns(kNicMac));
    CHECK(!nic.filter.promiscuous || rights.may_sniff);
    CHECK(nic.filter.unicast.size() <= iou::Filter::kEntriesMax);
    CHECK(nic.filter.multicast.size() <= iou::Filter::kEntriesMax);
    CHECK(std::ranges::is_sorted(nic.filter.unicast));
    CHECK(!nic.mac || !lan::is_multicast(*nic.mac));
    CHECK(nic.mtu <= kLanMtu && nic.mtu >= lan::kRequestedMtuMin);
    CHECK((nic.granted & ~kOffered) == 0 && (nic.features & ~nic.granted) == 0);
    CHECK(!nic.started || (nic.granted & lan::kOffloadVnet) != 0);
    CHECK(nic.granted == 0 || (nic.features & lan::kOffloadVnet) != 0);
    CHECK(nic.queues <= 1 && nic.coalescing.is_valid());
    CHECK(nic.qos.levels().size() <= QosMap::kLevelsMax && (nic.qos.empty() || !rights.sl));
    if (!rights.vlans) return;
    for (const std::uint16_t id : nic.vlans.list()) CHECK(host.allowance().vlans().may_use(id));
    CHECK(host.allowance().vlans().may_set_pvid(nic.vlans.pvid()));
  }

  Input in_;
  base::Time now_ = base::Time() + 1000s;
  Rights rights_;
  fabric::testing::AdapterPair pair_;
  base::SeededRandom random_{3};
  sim::FakePort lan_{kNicMac};
  iou::HostTable hosts_;
  Owner owner_;
  iou::NicService service_{lan_, {}, hosts_, rights_, [](const iou::AttachedHost&) {
                             return std::vector<iou::ListedNic>{{}};
                           }};
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace

// First byte: rights. Then steps of one byte and more.
void cfg_util(base::Bytes in) {
  base::set_log_level("error");  // a refusal is a warning
  CfgRun(in).all();
}

}  // namespace splitnic::fuzz
