// The modules post no work requests, poll no completions, make no queue pairs and register no
// memory, although the include table lets them see the adapter. Messaging does that for them
// [S001-06].
#pragma once

#include <array>
#include <regex>

#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

inline constexpr std::array<std::string_view, 2> kModules = {"host_module", "iou_module"};

inline Findings check_modules_leave_queues_alone(const SourceTree& tree) {
  static const std::regex kQueueWords(
      "\\b(post_send|post_recv|post_register|poll_cq|create_cq|create_qp|create_stream|modify_qp|"
      "connect_qp|prepare_qp|find_qp|alloc_pd|register_region|register_pages|bind_window|SendWr|"
      "RecvWr|NewRegion|QpInit|QpAttr|CommonInit|StreamInit|Wc|Sge|Mrwt|RegionRegistrar|"
      "WindowBinder)\\b");
  Findings findings;
  for (const SourceFile& file : tree) {
    const bool is_module = std::any_of(kModules.begin(), kModules.end(),
                                       [&](std::string_view one) { return file.below(one); });
    if (!file.is_cpp() || !is_module) continue;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(file.text)) {
      ++number;
      std::cmatch found;
      const std::string_view code = line.substr(0, line.find("//"));
      if (std::regex_search(code.data(), code.data() + code.size(), found, kQueueWords)) {
        findings.push_back(finding(file, number, found.str() + " belongs to messaging"));
      }
    }
  }
  return findings;
}

}  // namespace splitnic::tidy
