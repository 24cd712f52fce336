// Runs cases against a target, one after the other, each as a new host process. After a case that
// may harm the target, another host must be served: if none is, the verdict is WEDGED, and when
// that lasts, the cases behind it are skipped. Sans-I/O but for its lines. Thread: one owner.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/case.h"

namespace splitnic::conformance {

struct SuiteConfig {
  base::Duration timeout = std::chrono::seconds(1);  // of one reply
  std::uint64_t seed = 1;
  bool is_shm = false;
  // Differs between runs: a target never meets an identity, an instance or a transaction of an
  // earlier run.
  std::uint64_t run = 0;
};

struct CaseResult {
  Case about{};
  Verdict verdict = Verdict::kPass;
  Verdict of_case = Verdict::kPass;  // WEDGED: the verdict without what followed
  std::string expected{};            // SKIP: why
  std::string received{};
  base::Duration took{};
  Transcript transcript = Transcript();
};

// A case to run, or the reason why it is skipped.
struct Selected {
  Case about;
  std::string skipped_because;  // "": it runs
};

class Suite {
 public:
  // The hosts that the suite may be, each on its line, used in round robin. All outlive this.
  // REQUIRES one at least.
  Suite(std::span<Line* const> lines, const SuiteConfig& config);

  // Whether anybody replies to the first INIT or INITIATION.
  bool is_reachable();
  // Calls `on_result` after each case.
  using OnResult = std::function<void(const CaseResult&)>;
  void run(const std::vector<Selected>& selected, const OnResult& on_result);

 private:
  CaseResult run_one(const Case& one);
  void look_for_harm(CaseResult& result);
  HostConfig host_config(Line& line, std::string_view of);
  // Returns "" if the target serves a new host, else what it did.
  std::string try_probe(Line& line);
  // Begins a new process on a line: with new keys, where it has keys.
  bool begin_process(Line& line);

  const std::vector<Line*> lines_;
  const SuiteConfig config_;
  std::size_t next_line_ = 0;
  std::uint64_t processes_ = 0;  // that the suite has been
  bool is_wedged_ = false;
};

}  // namespace splitnic::conformance
