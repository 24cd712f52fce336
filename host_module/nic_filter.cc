#include "host_module/nic_filter.h"

#include <algorithm>
#include <utility>

#include "host_module/refusal_text.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgReply;
using messaging::CfgStatus;

constexpr base::Duration kRefusedRetryAfter = std::chrono::seconds(10);

// Returns the lists of the user with those of the kernel. Groups that find no room make the filter
// pass all.
UserFilter merged(const UserFilter& user, const NicSync& sync, bool has_listed) {
  UserFilter all = user;
  if (has_listed) {
    for (const lan::MacAddress& mac : sync.listed.unicast) all.add(mac);
  }
  if (sync.wanted.all_multicast) all.all_multicast = true;
  if (all.all_multicast) return all;
  for (const lan::MacAddress& mac : sync.listed.multicast) {
    if (!all.add(mac)) all.all_multicast = true;
  }
  return all;
}

// Returns whether the kernel's unicast addresses find room behind the user's.
bool have_room(const NicSync& sync) {
  return sync.listed.unicast.size() + sync.user.filter.unicast.size() <= UserFilter::kEntriesMax;
}

// Without promiscuous mode all else works. It is requested again later: the rights may change.
SyncEffect on_promiscuous_refused(NicSync& s) {
  s.filter_at = s.sent_at + kRefusedRetryAfter;
  if (std::exchange(s.is_promiscuous_refused, true)) return {};
  return {.warning = promiscuous_refusal()};
}

// Promiscuous mode is requested instead, as for any interface without a filter.
SyncEffect on_listed_refused(NicSync& s, const std::string& why) {
  s.listed_at = s.sent_at + kRefusedRetryAfter;
  if (std::exchange(s.refused_listed, s.sent_listed) == s.sent_listed) return {};
  return {.warning =
              "the I/O unit refused an address of another interface over this one, such as "
              "a macvlan's: " +
              why};
}

}  // namespace

std::string promiscuous_refusal() {
  return "the I/O unit does not permit promiscuous mode: a bridge over the interface, "
         "or a capture on it, gets the frames for this host only; start splitnic-iou "
         "with --grant sniff,forge (or --max-hosts 1), or grant it in its hosts file";
}

bool NicSync::requests_listed(base::Time now) const {
  return !listed.unicast.empty() && have_room(*this) &&
         (refused_listed != listed.unicast || now >= listed_at);
}

// The kernel's list makes the interface promiscuous once, which its filter replaces. No event
// reports that, nor the end of it.
bool NicSync::is_promiscuous_wanted(bool has_listed) const {
  if (!listed.promiscuity) return wanted.promiscuous;
  const std::uint32_t by_list = has_listed && !listed.unicast.empty() ? 1 : 0;
  return *listed.promiscuity > by_list;
}

FilterSetting NicSync::filter_to_send(base::Time now) const {
  const bool has_listed = requests_listed(now);
  UserFilter lists = user.filter;
  if (is_unicast_refused) lists.unicast.clear();
  return {merged(lists, *this, has_listed), is_promiscuous_wanted(has_listed) && now >= filter_at};
}

FilterSetting NicSync::filter_permitted(const UserFilter& lists) const {
  const bool has_listed = have_room(*this) && refused_listed != listed.unicast;
  return {merged(lists, *this, has_listed),
          is_promiscuous_wanted(has_listed) && !is_promiscuous_refused};
}

base::Time NicSync::filter_deadline() const {
  const bool has_listed = have_room(*this) && refused_listed != listed.unicast;
  const bool is_open = is_promiscuous_refused && is_promiscuous_wanted(has_listed);
  const bool is_list_open = have_room(*this) && refused_listed == listed.unicast;
  return std::min(is_open ? filter_at : base::kNever, is_list_open ? listed_at : base::kNever);
}

void NicSync::end_refusals() {
  if (listed.unicast.empty()) refused_listed.reset();
  const bool has_listed = have_room(*this) && refused_listed != listed.unicast;
  if (!is_promiscuous_wanted(has_listed)) is_promiscuous_refused = false;
}

// A unit that has refused promiscuous mode on a new connection has changed nothing: it needs no
// request without it.
bool is_filter_due(const NicSync& s, base::Time now) {
  if (!s.may_set()) return false;
  const FilterSetting setting = s.filter_to_send(now);
  if (s.acknowledged.filter == setting) return false;
  const bool was_refused =
      now < s.filter_at && s.is_promiscuous_wanted(s.requests_listed(now)) && !setting.promiscuous;
  return s.acknowledged.filter.has_value() || !was_refused || !setting.lists.is_default();
}

// The rights may have changed since the user had the addresses added; they are requested again on
// the next connection.
SyncEffect on_filter(NicSync& s, const CfgReply& reply) {
  cfg::SetFilterReply got;
  const bool has_reason = got.ParseFromString(reply.data) && got.refusal() != cfg::UNSPECIFIED;
  const bool is_of_mode = !has_reason || got.refusal() == cfg::PROMISCUOUS;
  const bool is_refused = reply.status == CfgStatus::kNotPermitted;
  if (is_refused && s.sent_filter.promiscuous && is_of_mode) return on_promiscuous_refused(s);
  const std::string why = refusal_text(has_reason ? got.refusal() : cfg::UNSPECIFIED);
  if (is_refused && !s.sent_listed.empty()) return on_listed_refused(s, why);
  if (is_refused && !s.sent_filter.lists.unicast.empty()) {
    s.is_unicast_refused = true;
    if (std::exchange(s.is_unicast_refusal_known, true)) return {};
    return {.warning = "the I/O unit refused the list of addresses: " + why};
  }
  s.acknowledged.filter = s.sent_filter;
  if (s.sent_filter.promiscuous) s.is_promiscuous_refused = false;
  if (!s.is_unicast_refused) s.is_unicast_refusal_known = false;
  if (!s.sent_listed.empty()) s.refused_listed.reset();
  return {};
}

}  // namespace splitnic::host
