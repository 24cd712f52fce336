#include "host_module/nic_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "control/values.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using control::ReplyStatus;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;

std::string vlan_data(std::uint16_t id) {
  cfg::VlanAddRequest request;  // the three requests have the same one field
  request.set_vlan_id(id);
  return request.SerializeAsString();
}

std::string group_data(const std::string& group) {
  cfg::GetStatsRequest request;  // CLEAR_STATS has the same one field
  request.set_group(group);
  return request.SerializeAsString();
}

std::string list_of(const std::vector<std::uint16_t>& ids) {
  std::string out;
  for (const std::uint16_t id : ids) out += (out.empty() ? "" : " ") + std::to_string(id);
  return out.empty() ? "all" : out;
}

}  // namespace

void NicRun::start(const control::NicRequest& request, Program program, Host& host,
                   OnQueue on_queue, control::ReplyFunction reply) {
  if (!host.nic_up()) {
    return reply({ReplyStatus::kRefused, "not connected to the I/O unit"});
  }
  const std::shared_ptr<NicRun> run(
      new NicRun(request, std::move(program), std::move(on_queue), std::move(reply)));
  run->report_known(host);
  run->run_on(host);
}

NicRun::NicRun(const control::NicRequest& request, Program program, OnQueue on_queue,
               control::ReplyFunction reply)
    : request_(request),
      program_(std::move(program)),
      on_queue_(std::move(on_queue)),
      reply_(std::move(reply)) {}

// Only queue 0 knows of the interface and the LAN; the other queues add to statistics and get what
// is changed.
void NicRun::run_on(Host& host) {
  steps_.clear();
  if (host.nic_up()) {
    ++queues_up_;
    if (auto planned = plan(host); !planned) return fail(planned.error().text());
  } else {
    keep(host, false);
  }
  send_next(host);
}

base::Status NicRun::plan(Host& host) {
  const bool is_first = queue_ == 0;
  switch (request_.kind) {
    case Kind::kLink:
      if (is_first) steps_ = {{CfgCode::kGetLink}, {CfgCode::kGetMac}};
      return {};
    case Kind::kDriver:
      if (is_first) steps_ = {{CfgCode::kGetVersion}};
      return {};
    case Kind::kAddress:
    case Kind::kChannels:
    case Kind::kFeatures:
    case Kind::kVlans:
      return {};  // the host knows
    case Kind::kSetFeatures: {
      const std::uint32_t off =
          (host.nic().offloads_off() | request_.features_off) & ~request_.features_on;
      if (auto done = host.nic().limit_offloads(host.nic().offloads_off() | off); !done) {
        return done;
      }
      cfg::SetOffloadsRequest mask;
      mask.set_mask(lan::offloads_in_force(host.nic().features() & ~off));
      steps_ = {{CfgCode::kSetOffloads, mask.SerializeAsString()}};
      return {};
    }
    case Kind::kStatistics:
      if (request_.group.empty())
        steps_ = {{CfgCode::kQueryStats}};
      else
        steps_ = {{CfgCode::kGetStats, group_data(request_.group)}};
      return {};
    case Kind::kClearStatistics:
      steps_ = {{CfgCode::kClearStats, group_data(request_.group)}};
      return {};
    case Kind::kReset:
      steps_ = {{CfgCode::kReset}};
      return {};
    case Kind::kVlanAdd:
      steps_ = {{CfgCode::kVlanAdd, vlan_data(request_.vlan)}};
      return {};
    case Kind::kVlanDel:
      steps_ = {{CfgCode::kVlanDel, vlan_data(request_.vlan)}};
      return {};
    case Kind::kPvid:
      steps_ = {{CfgCode::kSetPvid, vlan_data(request_.vlan)}};
      return {};
  }
  return {};
}

void NicRun::send_next(Host& host) {
  if (steps_.empty()) return next_queue();
  const Step step = std::move(steps_.front());
  steps_.pop_front();
  const auto sent = host.pair()->request(
      step.code, step.data, [run = shared_from_this(), &host, step](const CfgReply& got) {
        run->on_reply(host, step, got);
      });
  if (!sent) fail("the host is busy: " + sent.error().text());
}

void NicRun::on_reply(Host& host, const Step& step, const CfgReply& got) {
  const bool is_done = got.replied && got.status == CfgStatus::kOk;
  if (!is_done && step.code == CfgCode::kSetOffloads) {  // the interface had been limited before
    static_cast<void>(host.nic().limit_offloads(host.nic().offloads_off()));
  }
  if (!got.replied) return fail("no reply from the I/O unit");
  if (!is_done) return refuse(step, got.status);
  if (!report(step, got.data)) return fail("the reply of the I/O unit is malformed");
  if (steps_.empty()) keep(host, true);
  send_next(host);
}

// Returns false if the data is malformed.
bool NicRun::report(const Step& step, const std::string& data) {
  switch (step.code) {
    case CfgCode::kGetLink: {
      cfg::GetLinkReply reply;
      if (!reply.ParseFromString(data)) return false;
      const std::uint32_t speed = reply.link().speed_mbps();
      report_.rows.emplace_back("Speed", speed == 0 ? "Unknown!" : std::to_string(speed) + "Mb/s");
      report_.rows.emplace_back("Duplex",
                                std::string(reply.link().full_duplex() ? "Full" : "Half"));
      report_.rows.emplace_back("Link detected", reply.link().up());
      return true;
    }
    case CfgCode::kGetMac: {
      cfg::GetMacReply reply;
      if (!reply.ParseFromString(data)) return false;
      lan::MacAddress mac{};
      if (!reply.mac().empty() && reply.mac().size() != mac.size()) return false;
      std::memcpy(mac.data(), reply.mac().data(), reply.mac().size());
      report_.rows.emplace_back("Address at the I/O unit",
                                reply.mac().empty() ? "none" : control::mac_text(mac));
      return true;
    }
    case CfgCode::kGetVersion: {
      cfg::GetVersionReply reply;
      if (!reply.ParseFromString(data)) return false;
      report_.rows.emplace_back("firmware-version", reply.program() + ", protocol " +
                                                        std::to_string(reply.version()) + " of " +
                                                        std::to_string(reply.version_highest()));
      return true;
    }
    case CfgCode::kQueryStats: {
      cfg::QueryStatsReply reply;
      if (!reply.ParseFromString(data)) return false;
      constexpr int kGroupsMax = 16;  // each is a request
      for (int i = 0; i < std::min(reply.groups_size(), kGroupsMax); ++i) {
        steps_.push_back({CfgCode::kGetStats, group_data(reply.groups(i))});
      }
      return true;
    }
    case CfgCode::kGetStats: {
      cfg::GetStatsReply reply;
      if (!reply.ParseFromString(data)) return false;
      for (const cfg::Counter& counter : reply.counters()) {
        report_.add(counter.name(), counter.value());
      }
      return true;
    }
    default:
      return true;
  }
}

// Reports the interface and what the I/O unit granted, for which no request is needed.
void NicRun::report_known(Host& host) {
  const NicConfig& nic = host.nic();
  switch (request_.kind) {
    case Kind::kLink:
      report_.heading = "Settings for " + program_.interface;
      return;
    case Kind::kDriver:
      report_.indent.clear();
      report_.rows = {{"driver", std::string("splitnic")},
                      {"version", program_.version},
                      {"bus-info", program_.unit}};
      return;
    case Kind::kAddress:
      report_.indent.clear();
      report_.rows = {{"Permanent address", control::mac_text(nic.lan_mac())}};
      return;
    case Kind::kChannels:
      report_.heading = "Channel parameters for " + program_.interface;
      report_.rows = {{"Maximum", std::uint64_t{nic.queues()}}};
      return;
    case Kind::kFeatures: {
      report_.heading = "Features for " + program_.interface;
      const std::uint32_t in_force = lan::offloads_in_force(nic.features() & ~nic.offloads_off());
      for (const control::Feature& feature : control::nic_features()) {
        const bool is_granted = (nic.features() & feature.bit) != 0;
        report_.rows.emplace_back(std::string(feature.name),
                                  std::string((in_force & feature.bit) != 0 ? "on"
                                              : is_granted                  ? "off"
                                                                            : "off [fixed]"));
      }
      return;
    }
    case Kind::kStatistics:
      report_.heading = "NIC statistics";
      report_.indent = "     ";
      return;
    case Kind::kVlans:
      report_.heading = "VLANs of " + program_.interface;
      report_.rows = {{"Listed", list_of(nic.vlans())},
                      {"Access VLAN", nic.pvid() == 0 ? "none" : std::to_string(nic.pvid())}};
      return;
    default:
      return;
  }
}

// Keeps what this queue requests of its next connection, too.
void NicRun::keep(Host& host, bool is_done) {
  switch (request_.kind) {
    case Kind::kSetFeatures: {
      const std::uint32_t off =
          (host.nic().offloads_off() | request_.features_off) & ~request_.features_on;
      static_cast<void>(host.nic().set_offloads_off(off, is_done));
      return;
    }
    case Kind::kVlanAdd:
      return host.nic().on_vlan(request_.vlan, true, is_done);
    case Kind::kVlanDel:
      return host.nic().on_vlan(request_.vlan, false, is_done);
    case Kind::kPvid:
      return host.nic().on_pvid(request_.vlan, is_done);
    case Kind::kReset:
      if (is_done) host.nic().on_reset();
      return;
    default:
      return;
  }
}

void NicRun::next_queue() {
  ++queue_;
  switch (on_queue_(queue_, [run = shared_from_this()](Host& host) { run->run_on(host); })) {
    case control::Posted::kYes:
      return;
    case control::Posted::kNoQueue:
      return finish();
    case control::Posted::kBusy:
      return fail("queue " + std::to_string(queue_) +
                  " is busy or stopping, and those before it have done it: try again");
  }
}

void NicRun::refuse(const Step& step, CfgStatus status) {
  const std::string what(messaging::name(step.code));
  if (status == CfgStatus::kBusy) return fail("the I/O unit is busy: try again");
  if (step.code == CfgCode::kGetStats || step.code == CfgCode::kClearStats) {
    return fail("the I/O unit has no statistics of the group '" + request_.group +
                "': it has basic, rmon, drops, pools and queues");
  }
  if (status == CfgStatus::kNotPermitted) {
    return reply_({ReplyStatus::kRefused, "the I/O unit does not permit " + what +
                                              ": the rights of this host are in its hosts file"});
  }
  reply_({ReplyStatus::kFailed,
          "the I/O unit refused " + what + ": " + std::string(messaging::name(status))});
}

void NicRun::fail(const std::string& why) {
  steps_.clear();
  reply_({ReplyStatus::kFailed, why});
}

void NicRun::finish() {
  if (request_.kind == Kind::kChannels) report_.rows.emplace_back("Connected", queues_up_);
  if (report_.rows.empty()) return reply_({ReplyStatus::kOk, ""});
  reply_({ReplyStatus::kOk, program_.is_json ? report_.json() : report_.text()});
}

}  // namespace splitnic::host
