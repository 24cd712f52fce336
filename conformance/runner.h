// Runs cases one after the other and gives each its verdict. The suite of the role plays a case
// (suite.h, unit_suite.h, switch_suite.h, manager_suite.h); what is the same for all four is here:
// which cases are skipped, and when a target counts as wedged. Thread: one owner.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/case.h"
#include "conformance/states/coverage.h"
#include "conformance/stranger.h"

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

// A seed for what is random in a case of this name.
std::uint64_t seed_of(std::string_view name, std::uint64_t seed);

class Runner {
 public:
  virtual ~Runner();

  // Whether anybody replies to the first INIT or INITIATION.
  virtual bool is_reachable() = 0;
  // Returns text about what another program has sent in place of a reply, or "" if nothing came.
  // REQUIRES that the target was not reachable.
  const std::string& stranger() const { return stranger_; }
  // Calls `on_result` after each case.
  using OnResult = std::function<void(const CaseResult&)>;
  void run(const std::vector<Selected>& selected, const OnResult& on_result);
  // The cases that have not begun are skipped, for this reason. In a callback of run().
  void skip_rest(std::string why) { rest_skipped_because_ = std::move(why); }
  // The edges that the cases have driven the target over until now.
  const Coverage& coverage() const { return coverage_; }

 protected:
  // `ends`: how many ends the suite may play at a time.
  Runner(Role role, bool is_keyed, std::size_t ends)
      : is_keyed_(is_keyed), ends_(ends), role_(role), coverage_(role, is_keyed) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Plays the case and fills in everything but what it is about.
  virtual void play(const Case& one, CaseResult& result) = 0;
  // Returns "" if the target serves a new connection, else what it did. `number` counts the probes
  // after one case: with several ends each of them makes one.
  virtual std::string try_probe(std::size_t number) = 0;
  // Whether the links of the run have the full profile.
  virtual bool is_full() const { return false; }
  // One observer counts what passes on these lines, which outlive this.
  void observe(std::span<Line* const> lines);
  // The target was not reachable: keeps what came from another program.
  void note_stranger(const Transcript& transcript) { stranger_ = stranger_in(transcript); }

 private:
  CaseResult run_one(const Case& one);
  std::string not_of_profile(const Case& one) const;
  void look_for_harm(CaseResult& result);

  const bool is_keyed_;
  const std::size_t ends_;
  const Role role_;
  Coverage coverage_;
  std::vector<std::unique_ptr<Observer>> observers_;
  std::vector<Line*> observed_;
  std::string rest_skipped_because_;  // "": they run
  std::string stranger_;
};

}  // namespace splitnic::conformance
