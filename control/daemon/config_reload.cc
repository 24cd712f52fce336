#include "control/daemon/config_reload.h"

#include <algorithm>
#include <set>

#include "base/event.h"
#include "base/log.h"

namespace splitnic::control {
namespace {

// "tap", "tap and mac", "tap, mac and queues"
std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 < names.size() ? ", " : " and ";
    out += names[i];
  }
  return out;
}

std::vector<std::string> values_of(const GivenOptions& given, const std::string& name) {
  const auto found = given.values.find(name);
  return found == given.values.end() ? std::vector<std::string>() : found->second;
}

}  // namespace

bool OptionChanges::has(const std::string& option) const {
  return std::ranges::find(at_once, option) != at_once.end();
}

OptionsInForce::OptionsInForce(GivenOptions given, std::vector<std::string> changeable)
    : at_start_(std::move(given)), given_(at_start_), changeable_(std::move(changeable)) {}

OptionChanges OptionsInForce::changes(const GivenOptions& read) const {
  std::set<std::string> names;
  for (const auto& [name, values] : given_.values) names.insert(name);
  for (const auto& [name, values] : read.values) names.insert(name);
  OptionChanges changes;
  for (const std::string& name : names) {
    if (values_of(given_, name) == values_of(read, name)) continue;
    const bool is_changeable =
        name == "log-level" || std::ranges::find(changeable_, name) != changeable_.end();
    (is_changeable ? changes.at_once : changes.at_start).push_back(name);
  }
  return changes;
}

void OptionsInForce::restore_start(GivenOptions& read, const std::string& option) const {
  read.values[option] = values_of(at_start_, option);
}

void OptionsInForce::take(const GivenOptions& read, const OptionChanges& changes) {
  for (const std::string& name : changes.at_once) given_.values[name] = values_of(read, name);
}

std::string text_of(const OptionChanges& changes) {
  std::string out = "nothing has changed";
  if (!changes.at_once.empty()) {
    out = list_of(changes.at_once) + (changes.at_once.size() == 1 ? " has" : " have") + " changed";
  }
  if (!changes.note.empty()) out += "; " + changes.note;
  if (changes.at_start.empty()) return out;
  return out + "; " + list_of(changes.at_start) +
         (changes.at_start.size() == 1 ? " differs" : " differ") + ": start the program again";
}

Reply refuse_reload(ReplyStatus status, const std::string& why) {
  base::log_error({base::EventKind::kReloadFailed}, "nothing is reloaded: " + why);
  return {status, why};
}

Reply accept_reload(const std::string& text) {
  base::log_info({base::EventKind::kReloaded}, "reloaded: " + text);
  return {ReplyStatus::kOk, text + "\n"};
}

Reply accept_reload_but(const std::string& text, const std::string& why) {
  base::log_warn({base::EventKind::kReloaded}, "reloaded: " + text + "; " + why);
  return {ReplyStatus::kRefused, text + "; " + why};
}

}  // namespace splitnic::control
