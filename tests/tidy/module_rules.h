// The modules post no work requests, poll no completions, make no queue pairs and register no
// memory, although the include table lets them see the adapter. Messaging does that for them
// [S001-06]. Of the fabric they use the listed types, and of the adapter the listed functions.
#pragma once

#include <array>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

inline constexpr std::array<std::string_view, 2> kModules = {"host_module", "iou_module"};

inline constexpr auto kAdapterCalls = std::to_array<std::string_view>(
    {"connections", "deadline", "poll", "ports", "receive", "transmit", "visit_counters"});

inline constexpr auto kFabricNames = std::to_array<std::string_view>({"Adapter",
                                                                      "AdapterLimits",
                                                                      "ConnectionHandler",
                                                                      "ConnectionId",
                                                                      "Eui64",
                                                                      "InitReason",
                                                                      "Link",
                                                                      "Mgmt",
                                                                      "MgmtReject",
                                                                      "MrwtProfile",
                                                                      "PartitionKey",
                                                                      "PartitionTable",
                                                                      "PeerAddress",
                                                                      "Port",
                                                                      "PortConfig",
                                                                      "ShmUnderlay",
                                                                      "UdpAddress",
                                                                      "Underlay",
                                                                      "UnderlayDecorator",
                                                                      "kPortLidMax",
                                                                      "number_of",
                                                                      "session",
                                                                      "text_of"});

// Functions of the adapter and of its memory, by whatever name a module has the object. A pair of
// messaging registers the frames of its owner.
inline const std::regex& denied_calls() {
  static const std::regex kDenied(
      "(?:\\.|->)\\s*(post_\\w+|poll_cq|create_\\w+|destroy_\\w+|modify_qp|connect_qp|prepare_qp|"
      "resume_sq|find_qp|alloc_pd|free_pd|memory|register_(?!frames)\\w+|reserve_\\w+|bind_\\w+|"
      "deregister|"
      "invalidate)\\s*\\(");
  return kDenied;
}

inline Findings check_modules_leave_queues_alone(const SourceTree& tree) {
  static const std::regex kAdapterCall(
      "\\b\\w*[Aa]dapter(?:_|\\(\\))?\\s*(?:\\.|->)\\s*([a-z]\\w*)");
  static const std::regex kFabricName("\\bfabric::(\\w+)");
  static const std::regex kWholeFabric(
      "\\bnamespace\\s+(?:\\w+\\s*=\\s*)?(?:splitnic::)?fabric\\b");
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  Findings findings;
  for (const SourceFile& file : tree) {
    const bool is_module = std::any_of(kModules.begin(), kModules.end(),
                                       [&](std::string_view one) { return file.below(one); });
    if (!file.is_cpp() || !is_module) continue;
    std::size_t number = 0;
    for (const std::string_view view : lines_of(file.text)) {
      ++number;
      if (view.starts_with("#")) continue;
      const std::string line(view.substr(0, view.find("//")));
      std::set<std::string> found;
      const auto look = [&](const std::regex& pattern, const auto& allowed) {
        for (std::sregex_iterator it(line.begin(), line.end(), pattern), end; it != end; ++it) {
          if (!is_in(allowed, (*it)[1].str())) found.insert((*it)[1].str());
        }
      };
      look(kAdapterCall, kAdapterCalls);
      look(kFabricName, kFabricNames);
      look(denied_calls(), std::array<std::string_view, 0>{});
      if (std::regex_search(line, kWholeFabric)) found.insert("namespace fabric");
      for (const std::string& name : found) {
        findings.push_back(finding(file, number, name + " belongs to messaging"));
      }
    }
  }
  return findings;
}

}  // namespace splitnic::tidy
