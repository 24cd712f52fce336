#include "conformance/runner.h"

#include <algorithm>

namespace splitnic::conformance {
namespace {

constexpr std::size_t kProbes = 3;

}  // namespace

std::uint64_t seed_of(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = seed ^ 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  return hash;
}

Runner::~Runner() {
  for (Line* const line : observed_) line->observe(nullptr);
}

void Runner::observe(std::span<Line* const> lines) {
  observers_.push_back(std::make_unique<Observer>(coverage_, role_));
  for (Line* const line : lines) {
    line->observe(observers_.back().get());
    observed_.push_back(line);
  }
}

CaseResult Runner::run_one(const Case& one) {
  CaseResult result{.about = one};
  play(one, result);
  result.of_case = result.verdict;
  const bool is_bad = is_failure(result.verdict) || result.verdict == Verdict::kWarn;
  if (one.may_harm || is_bad) look_for_harm(result);
  return result;
}

// One of the ends may be refused for what it did; a target that refuses all of them serves nobody.
void Runner::look_for_harm(CaseResult& result) {
  std::string why;
  for (std::size_t i = 0; i < std::max(kProbes, ends_); ++i) {
    why = try_probe(i);
    if (why.empty()) return;
  }
  skip_rest("the target is wedged");
  result.verdict = Verdict::kWedged;
  if (!result.expected.empty()) return;
  result.expected = "a target that serves a new connection afterwards";
  result.received = why;
}

// Returns why a case is not about the profile of the run; "" if it is.
std::string Runner::not_of_profile(const Case& one) const {
  if (one.profiles == Profiles::kFull && !is_full()) return "for links of the full profile";
  if (one.profiles == Profiles::kWholeCells && is_full()) {
    return "for links of the speed and shm profiles";
  }
  return {};
}

void Runner::run(const std::vector<Selected>& selected, const OnResult& on_result) {
  for (const Selected& one : selected) {
    std::string why = one.skipped_because;
    if (why.empty()) why = rest_skipped_because_;
    if (why.empty() && one.about.links == Links::kPlain && is_keyed_)
      why = "for links without keys";
    if (why.empty() && one.about.links == Links::kKeyed && !is_keyed_) why = "for links with keys";
    if (why.empty()) why = not_of_profile(one.about);
    if (why.empty() && one.about.ends > ends_) {
      why = role_ == Role::kHost ? "needs a second host"
                                 : "needs " + std::to_string(one.about.ends) + " ports";
    }
    if (why.empty()) {
      on_result(run_one(one.about));
      continue;
    }
    CaseResult skipped{.about = one.about, .verdict = Verdict::kSkip, .expected = why};
    on_result(skipped);
  }
}

}  // namespace splitnic::conformance
