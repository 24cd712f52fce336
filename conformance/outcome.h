// The result of a case while it runs: it keeps the first expectation that was not met, and from
// then on the case only finishes. Cases report what they expect in one line each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace splitnic::conformance {

// How much a case demands of a target, and how much it sees.
enum class Level : std::uint8_t {
  kMust,
  kShould,      // the specification recommends it
  kOurs,        // no clause has it; our programs do it
  kRobustness,  // the target must survive it; what it made of it is not seen
};
constexpr std::string_view name(Level level) {
  switch (level) {
    case Level::kMust:
      return "MUST";
    case Level::kShould:
      return "SHOULD";
    case Level::kOurs:
      return "ours";
    case Level::kRobustness:
      return "robustness";
  }
  return "unknown";
}

enum class Verdict : std::uint8_t {
  kPass,
  kFail,      // the target broke the clause
  kWarn,      // it does not do what it should do, or what only our programs do
  kRejected,  // the target refused the link or connection that the case needs
  kWedged,    // after the case the target does not serve anybody any more: it needs a restart
  kSkip,      // not run
};
constexpr std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kWarn:
      return "WARN";
    case Verdict::kRejected:
      return "REJECTED";
    case Verdict::kWedged:
      return "WEDGED";
    case Verdict::kSkip:
      return "SKIP";
  }
  return "unknown";
}
constexpr bool is_failure(Verdict verdict) {
  return verdict == Verdict::kFail || verdict == Verdict::kWedged;
}

// The target or a file has chosen some of the text: it is cut, and has no control characters for a
// terminal.
inline std::string printable(std::string text) {
  constexpr std::size_t kTextMax = 400;
  if (text.size() > kTextMax) text.resize(kTextMax);
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

class Outcome {
 public:
  explicit Outcome(Level level = Level::kMust) : level_(level) {}

  bool is_good() const { return verdict_ == Verdict::kPass; }
  Verdict verdict() const { return verdict_; }
  const std::string& expected() const { return expected_; }
  const std::string& received() const { return received_; }

  // An expectation of the case was not met: what that means follows from its level.
  void miss(std::string expected, std::string received) {
    const bool is_duty = level_ == Level::kMust || level_ == Level::kRobustness;
    end(is_duty ? Verdict::kFail : Verdict::kWarn, std::move(expected), std::move(received));
  }
  // A rule that holds whatever the case is about was broken.
  void fail(std::string expected, std::string received) {
    end(Verdict::kFail, std::move(expected), std::move(received));
  }
  void reject(std::string expected, std::string received) {
    end(Verdict::kRejected, std::move(expected), std::move(received));
  }
  void skip(std::string why) { end(Verdict::kSkip, std::move(why), {}); }

 private:
  void end(Verdict verdict, std::string expected, std::string received) {
    if (!is_good()) return;
    verdict_ = verdict;
    expected_ = printable(std::move(expected));
    received_ = printable(std::move(received));
  }

  Level level_;
  Verdict verdict_ = Verdict::kPass;
  std::string expected_, received_;
};

}  // namespace splitnic::conformance
