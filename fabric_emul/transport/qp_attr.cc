#include "fabric_emul/transport/qp_attr.h"

#include <cerrno>
#include <string>

namespace splitnic::fabric {
namespace {

struct AttrRule {
  Service service;
  QpState from;
  QpState to;
  AttrMask required;
  AttrMask optional;
};

// The attributes that may change while the queue pair sends.
constexpr AttrMask kRcWhileSending = kAttrRights | kAttrMinRnrTimer | kAttrAckInterval;
constexpr AttrMask kRdWhileSending = kAttrRights | kAttrMinRnrTimer;

// A change that is not listed carries no attributes.
constexpr auto kAttrRules = std::to_array<AttrRule>({
    {Service::kRc, QpState::kReset, QpState::kInit, kAttrRights | kAttrSl, 0},
    {Service::kRc, QpState::kInit, QpState::kInit, 0, kAttrRights | kAttrSl},
    {Service::kRc, QpState::kInit, QpState::kRtr,
     kAttrRemoteLid | kAttrRemoteQpn | kAttrMcp | kAttrReceivePsn | kAttrReceiveLcn |
         kAttrMinRnrTimer | kAttrSelectiveRepeat,
     kAttrRights | kAttrSl | kAttrAckInterval | kAttrMaxDestRdAtomic},
    {Service::kRc, QpState::kRtr, QpState::kRts,
     kAttrSendPsn | kAttrSendLcn | kAttrRetryCount | kAttrRnrRetry,
     kRcWhileSending | kAttrMaxRdAtomic},
    {Service::kRc, QpState::kRts, QpState::kRts, 0, kRcWhileSending},
    {Service::kRc, QpState::kSqd, QpState::kRts, 0, kRcWhileSending | kAttrMaxRdAtomic},
    {Service::kRc, QpState::kSqd, QpState::kSqd, 0,
     kRcWhileSending | kAttrMaxRdAtomic | kAttrSl | kAttrRetryCount | kAttrRnrRetry},

    {Service::kUc, QpState::kReset, QpState::kInit, kAttrRights | kAttrSl, 0},
    {Service::kUc, QpState::kInit, QpState::kInit, 0, kAttrRights | kAttrSl},
    {Service::kUc, QpState::kInit, QpState::kRtr,
     kAttrRemoteLid | kAttrRemoteQpn | kAttrMcp | kAttrReceivePsn, kAttrRights | kAttrSl},
    {Service::kUc, QpState::kRtr, QpState::kRts, kAttrSendPsn, kAttrRights},
    {Service::kUc, QpState::kRts, QpState::kRts, 0, kAttrRights},
    {Service::kUc, QpState::kSqd, QpState::kRts, 0, kAttrRights},
    {Service::kUc, QpState::kSqd, QpState::kSqd, 0, kAttrRights | kAttrSl},
    {Service::kUc, QpState::kSqe, QpState::kRts, 0, kAttrRights},

    {Service::kUd, QpState::kReset, QpState::kInit, kAttrSl, 0},
    {Service::kUd, QpState::kInit, QpState::kInit, 0, kAttrSl},
    {Service::kUd, QpState::kInit, QpState::kRtr, kAttrMcp, kAttrSl},
    {Service::kUd, QpState::kRtr, QpState::kRts, kAttrSendPsn, 0},
    {Service::kUd, QpState::kSqd, QpState::kSqd, 0, kAttrSl},

    {Service::kRd, QpState::kReset, QpState::kInit, kAttrRights | kAttrSl, 0},
    {Service::kRd, QpState::kInit, QpState::kInit, 0, kAttrRights | kAttrSl},
    {Service::kRd, QpState::kInit, QpState::kRtr, kAttrMcp | kAttrMinRnrTimer,
     kAttrRights | kAttrSl | kAttrMaxDestRdAtomic},
    {Service::kRd, QpState::kRtr, QpState::kRts, kAttrRnrRetry, kRdWhileSending | kAttrMaxRdAtomic},
    {Service::kRd, QpState::kRts, QpState::kRts, 0, kRdWhileSending},
    {Service::kRd, QpState::kSqd, QpState::kRts, 0, kRdWhileSending | kAttrMaxRdAtomic},
    {Service::kRd, QpState::kSqd, QpState::kSqd, 0, kRdWhileSending | kAttrSl | kAttrRnrRetry},
    {Service::kRd, QpState::kSqe, QpState::kRts, 0, kRdWhileSending},

    {Service::kRaw, QpState::kReset, QpState::kInit, kAttrSl, 0},
    {Service::kRaw, QpState::kInit, QpState::kInit, 0, kAttrSl},
    {Service::kRaw, QpState::kInit, QpState::kRtr, kAttrMcp, kAttrSl},
    {Service::kRaw, QpState::kRtr, QpState::kRts, kAttrSendPsn, 0},
    {Service::kRaw, QpState::kSqd, QpState::kSqd, 0, kAttrSl},
});

constexpr bool rules_are_sound() {
  for (std::size_t i = 0; i < kAttrRules.size(); ++i) {
    const AttrRule& rule = kAttrRules[i];
    if (!is_legal(rule.from, rule.to) || !has_modify(rule.service)) return false;
    if ((rule.required & rule.optional) != 0) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const AttrRule& other = kAttrRules[j];
      if (other.service == rule.service && other.from == rule.from && other.to == rule.to) {
        return false;
      }
    }
  }
  return true;
}
static_assert(rules_are_sound(), "legal edges, each once, no attribute both required and optional");

constexpr const AttrRule* find_rule(Service service, QpState from, QpState to) {
  for (const AttrRule& rule : kAttrRules) {
    if (rule.service == service && rule.from == from && rule.to == to) return &rule;
  }
  return nullptr;
}

std::string names(AttrMask mask) {
  std::string text;
  for (std::size_t i = 0; i < kQpAttrs; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    if (!text.empty()) text += ", ";
    text += kQpAttrNames[i];
  }
  return text.empty() ? "an unknown attribute" : text;
}

// The given attributes whose values are outside what the formats or the timers can hold.
AttrMask bad_values(AttrMask given, const QpAttr& v) {
  AttrMask bad = 0;
  const auto refuse_if = [&](bool wrong, AttrMask bit) { bad |= wrong ? bit : 0; };
  refuse_if((v.rights & ~(kRemoteRead | kRemoteWrite)) != 0, kAttrRights);
  refuse_if(v.sl > 15, kAttrSl);
  refuse_if(v.remote_qpn.value == 0 || v.remote_qpn.value > 0xFFFFFF, kAttrRemoteQpn);
  refuse_if(v.mcp < kMcpMin || v.mcp > kMcpMax || v.mcp % 4 != 0, kAttrMcp);
  refuse_if(v.retry_count > kRetryCountMax, kAttrRetryCount);
  refuse_if(v.rnr_retry > kRnrRetryForever, kAttrRnrRetry);
  refuse_if(v.max_dest_rd_atomic > kReadsMax, kAttrMaxDestRdAtomic);
  refuse_if(v.max_rd_atomic > kReadsMax, kAttrMaxRdAtomic);
  refuse_if(v.ack_interval == 0 || v.ack_interval > kLcnWindowMax, kAttrAckInterval);
  return bad & given;
}

}  // namespace

AttrMask required_attributes(Service service, QpState from, QpState to) {
  const AttrRule* rule = find_rule(service, from, to);
  return rule == nullptr ? 0 : rule->required;
}

AttrMask optional_attributes(Service service, QpState from, QpState to) {
  const AttrRule* rule = find_rule(service, from, to);
  return rule == nullptr ? 0 : rule->optional;
}

base::Status check_modify(Service service, QpState from, QpState to, AttrMask given,
                          const QpAttr& values) {
  const auto refuse = [&](const std::string& why) -> base::Status {
    return base::Error("changing a queue pair: " + why, EINVAL);
  };
  if (!has_modify(service)) return refuse("its service has no such states");
  if (from >= QpState::kCount_ || to >= QpState::kCount_) return refuse("no such state");
  const std::string edge = std::string(name(from)) + " to " + std::string(name(to));
  if (!is_legal(from, to)) return refuse(edge + " is not allowed");
  const AttrMask required = required_attributes(service, from, to);
  const AttrMask allowed = required | optional_attributes(service, from, to);
  if (const AttrMask missing = required & ~given; missing != 0) {
    return refuse(edge + " lacks " + names(missing));
  }
  if (const AttrMask extra = given & ~allowed; extra != 0) {
    return refuse(edge + " does not take " + names(extra));
  }
  if (const AttrMask bad = bad_values(given, values); bad != 0) {
    return refuse(edge + " has an impossible value of " + names(bad));
  }
  return {};
}

void apply_attributes(QpAttr& attr, AttrMask given, const QpAttr& values) {
  const auto apply = [&](AttrMask bit, auto member) {
    if ((given & bit) != 0) attr.*member = values.*member;
  };
  apply(kAttrRights, &QpAttr::rights);
  apply(kAttrSl, &QpAttr::sl);
  apply(kAttrRemoteLid, &QpAttr::remote_lid);
  apply(kAttrRemoteQpn, &QpAttr::remote_qpn);
  apply(kAttrMcp, &QpAttr::mcp);
  apply(kAttrReceivePsn, &QpAttr::receive_psn);
  apply(kAttrReceiveLcn, &QpAttr::receive_lcn);
  apply(kAttrMinRnrTimer, &QpAttr::min_rnr_timer);
  apply(kAttrSelectiveRepeat, &QpAttr::selective_repeat);
  apply(kAttrSendPsn, &QpAttr::send_psn);
  apply(kAttrSendLcn, &QpAttr::send_lcn);
  apply(kAttrRetryCount, &QpAttr::retry_count);
  apply(kAttrRnrRetry, &QpAttr::rnr_retry);
  apply(kAttrAckInterval, &QpAttr::ack_interval);
  apply(kAttrMaxDestRdAtomic, &QpAttr::max_dest_rd_atomic);
  apply(kAttrMaxRdAtomic, &QpAttr::max_rd_atomic);
}

}  // namespace splitnic::fabric
