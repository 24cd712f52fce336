#include "host_module/nic_run.h"

#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "host_module/request_data.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using control::ReplyStatus;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;

// A command accepts what the I/O unit accepts. The folder control sees none of the unit's bounds,
// and messaging/cfgutil none of the fabric's.
using Change = control::NicRequest::CoalescingChange;
static_assert(Change::kMicrosecondsMax == messaging::Coalescing::kMicrosecondsMax &&
              Change::kFramesMax == messaging::Coalescing::kFramesMax &&
              Change::kBytesMax == messaging::Coalescing::kBytesMax);
static_assert(control::NicRequest::kQueuesMax == messaging::kQueuesMax);
static_assert(control::NicRequest::kLevelMax == messaging::QosMap::kServiceLevelMax);

std::string vlan_data(std::uint16_t id) {
  cfg::VlanAddRequest request;  // the three requests have the same one field
  request.set_vlan_id(id);
  return request.SerializeAsString();
}

}  // namespace

std::string NicRun::group_data(const std::string& group) {
  cfg::GetStatsRequest request;  // CLEAR_STATS has the same one field
  request.set_group(group);
  return request.SerializeAsString();
}

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
    case Kind::kRings:
      report_.rings->add(host.rings());
      return {};
    case Kind::kAddress:
    case Kind::kChannels:
    case Kind::kFeatures:
    case Kind::kVlans:
    case Kind::kCoalescing:
    case Kind::kQos:
    case Kind::kFilter:
      return {};  // the host knows
    case Kind::kList:
      if (is_first) steps_ = {{CfgCode::kListNics}};
      return {};
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
    default:
      return plan_setting(host);
  }
}

base::Status NicRun::plan_setting(Host& host) {
  switch (request_.kind) {
    case Kind::kFilterAdd:
    case Kind::kFilterDel:
    case Kind::kFilterGroups: {
      const auto filter = filter_of(host);
      if (!filter) {
        return base::Error("a list has " + std::to_string(UserFilter::kEntriesMax) +
                           " addresses at most");
      }
      steps_ = {{CfgCode::kSetFilter, filter_data(host.nic().sync().filter_permitted(*filter))}};
      return {};
    }
    case Kind::kSetChannels:
      if (queue_ > 0) return {};  // queue 0 has the others follow
      if (request_.queues > host.nic().sync().queues) {
        return base::Error("the I/O unit has " + std::to_string(host.nic().sync().queues) +
                           " queues");
      }
      steps_ = {{CfgCode::kSetQueues, queues_data(request_.queues)}};
      return {};
    case Kind::kSetCoalescing:
      steps_ = {{CfgCode::kSetCoalesce, coalescing_data(coalescing_of(host))}};
      return {};
    case Kind::kSetQos:
    case Kind::kClearQos: {
      const messaging::QosMap map = qos_of(host);
      if (map.levels().size() > messaging::QosMap::kLevelsMax) {
        return base::Error("there may be " + std::to_string(messaging::QosMap::kLevelsMax) +
                           " different levels at once");
      }
      steps_ = {{CfgCode::kSetQos, qos_data(map)}};
      return {};
    }
    case Kind::kSetFeatures: {
      const std::uint32_t off =
          (host.nic().user().offloads_off | request_.features_off) & ~request_.features_on;
      if (auto done = host.nic().limit_offloads(host.nic().user().offloads_off | off); !done) {
        return done;
      }
      cfg::SetOffloadsRequest mask;
      mask.set_mask(lan::offloads_in_force(host.nic().sync().features & ~off));
      steps_ = {{CfgCode::kSetOffloads, mask.SerializeAsString()}};
      return {};
    }
    case Kind::kVlanAdd:
      steps_ = {{CfgCode::kVlanAdd, vlan_data(request_.vlan)}};
      return {};
    case Kind::kVlanDel:
      steps_ = {{CfgCode::kVlanDel, vlan_data(request_.vlan)}};
      return {};
    case Kind::kPvid:
      steps_ = {{CfgCode::kSetPvid, vlan_data(request_.vlan)}};
      return {};
    default:
      return {};
  }
}

// The settings of this queue with what the user changes. None: the list is full.
std::optional<UserFilter> NicRun::filter_of(Host& host) const {
  UserFilter filter = host.nic().user().filter;
  if (request_.kind == Kind::kFilterAdd && !filter.add(request_.mac)) return std::nullopt;
  if (request_.kind == Kind::kFilterDel) filter.remove(request_.mac);
  if (request_.kind == Kind::kFilterGroups) filter.all_multicast = request_.all_multicast;
  return filter;
}

messaging::Coalescing NicRun::coalescing_of(Host& host) const {
  const auto& change = request_.coalescing;
  messaging::Coalescing out = host.nic().user().coalescing.value();
  out.microseconds = change.microseconds.value_or(out.microseconds);
  out.frames = change.frames.value_or(out.frames);
  out.bytes = change.bytes.value_or(out.bytes);
  out.is_adaptive = change.is_adaptive.value_or(out.is_adaptive);
  return out;
}

messaging::QosMap NicRun::qos_of(Host& host) const {
  if (request_.kind == Kind::kClearQos) return {};
  messaging::QosMap map = host.nic().user().qos.value();
  for (const auto& change : request_.qos) {
    std::uint8_t& level =
        change.is_code_point ? map.code_points.at(change.number) : map.priorities.at(change.number);
    level = change.level.value_or(messaging::QosMap::kNone);
  }
  return map;
}

void NicRun::send_next(Host& host) {
  if (steps_.empty()) return next_queue();
  const Step step = std::move(steps_.front());
  steps_.pop_front();
  const auto sent = host.connection()->first().request(
      step.code, step.data, [run = shared_from_this(), &host, step](const CfgReply& got) {
        run->on_reply(host, step, got);
      });
  if (!sent) fail("the host is busy: " + sent.error().text());
}

void NicRun::on_reply(Host& host, const Step& step, const CfgReply& got) {
  const bool is_done = got.replied && got.status == CfgStatus::kOk;
  base::log_debug("a command asks for " + std::string(name(step.code)) + ": " +
                  std::string(got.replied ? name(got.status) : "no reply"));
  if (!is_done && step.code == CfgCode::kSetOffloads) {  // the interface had been limited before
    static_cast<void>(host.nic().limit_offloads(host.nic().user().offloads_off));
  }
  if (!got.replied) return fail("no reply from the I/O unit");
  if (!is_done) return refuse(step, got.status);
  if (!report(step, got.data)) return fail("the reply of the I/O unit is malformed");
  if (steps_.empty()) keep(host, true);
  send_next(host);
}

// Keeps what this queue requests of its next connection, too.
void NicRun::keep(Host& host, bool is_done) {
  switch (request_.kind) {
    case Kind::kSetFeatures: {
      const std::uint32_t off =
          (host.nic().user().offloads_off | request_.features_off) & ~request_.features_on;
      static_cast<void>(host.nic().set_offloads_off(off, is_done));
      return;
    }
    case Kind::kVlanAdd:
      return host.nic().user().vlans.set(request_.vlan, true, is_done);
    case Kind::kVlanDel:
      return host.nic().user().vlans.set(request_.vlan, false, is_done);
    case Kind::kPvid:
      return host.nic().user().vlans.pvid().set(request_.vlan, is_done);
    case Kind::kReset:
      if (is_done) host.nic().on_reset();
      return;
    case Kind::kFilterAdd:
    case Kind::kFilterDel:
    case Kind::kFilterGroups:
      if (const auto filter = filter_of(host)) host.nic().on_filter(*filter, is_done);
      return;
    case Kind::kSetChannels:
      if (queue_ == 0) host.nic().user().queues.set(request_.queues, is_done);
      return;
    case Kind::kSetCoalescing:
      return host.nic().user().coalescing.set(coalescing_of(host), is_done);
    case Kind::kSetQos:
    case Kind::kClearQos:
      host.nic().user().qos.set(qos_of(host), is_done);
      return host.use_service_levels();
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
  if (request_.kind == Kind::kQos && report_.rows.empty()) {
    report_.rows.emplace_back("Levels", std::string("none"));
  }
  if (report_.channels) report_.channels->used = queues_up_;
  if (report_.rows.empty() && report_.nics.empty() && !report_.rings && !report_.channels)
    return reply_({ReplyStatus::kOk, ""});
  reply_({ReplyStatus::kOk, program_.is_json ? report_.json() : report_.text()});
}

}  // namespace splitnic::host
