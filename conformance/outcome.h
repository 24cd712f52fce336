// The result of a case while it runs: it keeps the first expectation that was not met, and from
// then on the case only finishes. Cases report what they expect in one line each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace splitnic::conformance {

enum class Verdict : std::uint8_t {
  kPass,
  kFail,      // the target broke the clause
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

class Outcome {
 public:
  bool is_good() const { return verdict_ == Verdict::kPass; }
  Verdict verdict() const { return verdict_; }
  const std::string& expected() const { return expected_; }
  const std::string& received() const { return received_; }

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
  // The target has chosen some of the text: it is cut, and has no control characters for a
  // terminal.
  static std::string printable(std::string text) {
    static constexpr std::size_t kTextMax = 400;
    if (text.size() > kTextMax) text.resize(kTextMax);
    for (char& c : text) {
      if (c < ' ' || c > '~') c = '?';
    }
    return text;
  }

  Verdict verdict_ = Verdict::kPass;
  std::string expected_, received_;
};

}  // namespace splitnic::conformance
