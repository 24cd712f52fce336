// The suite as a host: runs cases against an I/O unit, one after the other, each as a new host
// process. After a case that may harm the target, another host must be served: if none is, the
// verdict is WEDGED, and the cases behind it are skipped. Sans-I/O but for its lines.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "conformance/runner.h"

namespace splitnic::conformance {

class Suite final : public Runner {
 public:
  // The hosts that the suite may be, each on its line, used in round robin. All outlive this.
  // REQUIRES one at least.
  Suite(std::span<Line* const> lines, const SuiteConfig& config);

  // A target that refuses the speed profile and states the full one gets that from then on.
  bool is_reachable() override;

 private:
  void play(const Case& one, CaseResult& result) override;
  std::string try_probe(std::size_t number) override;
  bool is_full() const override { return profile_ == fabric::LinkProfile::kFull; }
  EndConfig host_config(Line& line, std::string_view of);
  bool gets_reply(Line& line);
  void learn_profile(base::Bytes datagram);

  const std::vector<Line*> lines_;
  const SuiteConfig config_;
  fabric::LinkProfile profile_;
  std::size_t next_line_ = 0;
  std::uint64_t processes_ = 0;  // that the suite has been
};

}  // namespace splitnic::conformance
