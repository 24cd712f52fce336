// The suite as an I/O unit: runs cases against a host, one after the other. Between two cases it
// ends the connection, and the host connects again, as the protocol requires; a host that does not
// come back is WEDGED. One that serves no connection at the start of the run has to come back with
// its link: so the author of a host can begin with the cases of the link. Sans-I/O but for its
// line. Thread: one owner.
#pragma once

#include "conformance/runner.h"

namespace splitnic::conformance {

class UnitSuite final : public Runner {
 public:
  // `line` outlives this.
  UnitSuite(Line& line, const SuiteConfig& config);

  // Waits for a host, 30 time-outs at most.
  bool is_reachable() override;
  // BYE: the host is free again.
  void end();

 private:
  void play(const Case& one, CaseResult& result) override;
  std::string try_probe(std::size_t number) override;
  bool is_full() const override { return link_.profile == fabric::LinkProfile::kFull; }
  std::string try_connection();
  EndConfig config_of_unit();

  Line& line_;
  const SuiteConfig config_;
  UnitLink link_;
  bool serves_ = false;          // the host has served a connection at the start of the run
  std::uint64_t processes_ = 0;  // that the suite has been
};

}  // namespace splitnic::conformance
