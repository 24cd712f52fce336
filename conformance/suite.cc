#include "conformance/suite.h"

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/session/peer.h"

namespace splitnic::conformance {
namespace {

constexpr std::size_t kProbes = 3;
constexpr int kAgreeTimeouts = 5;  // a target may limit the rate of handshakes
constexpr base::Duration kHelloEvery = std::chrono::milliseconds(100);

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed ^ 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

Suite::Suite(std::span<Line* const> lines, const SuiteConfig& config)
    : lines_(lines.begin(), lines.end()), config_(config) {
  CHECK(!lines_.empty());
}

// A host with a key has the EUI-64 of its key, and may have only that. Two processes never have one
// instance: not in a run, and not in two runs.
HostConfig Suite::host_config(Line& line, std::string_view of) {
  constexpr std::uint64_t kLocal = std::uint64_t{2} << 56;
  constexpr std::uint64_t kLow = (std::uint64_t{1} << 56) - 1;
  base::SeededRandom of_name(hash_of(of, config_.seed ^ config_.run));
  base::SeededRandom of_process(hash_of("process", config_.seed ^ config_.run) + processes_++);
  HostConfig config;
  config.eui64 = line.is_keyed() ? fabric::Eui64(session::eui64_of(line.session().public_key()))
                                 : fabric::Eui64(kLocal | (of_name.next() & kLow));
  config.process = of_process.next();
  config.instance = of_process.next() | 1;
  if (config_.is_shm) config.profile = fabric::LinkProfile::kShm;
  config.crc_head_only = config_.is_shm;
  config.timeout = config_.timeout;
  return config;
}

bool Suite::begin_process(Line& line) {
  line.begin();
  if (!line.is_keyed()) return true;
  line.session().begin_process();
  return line.agree(line.now() + kAgreeTimeouts * config_.timeout);
}

std::string Suite::try_probe(Line& line) {
  if (!begin_process(line)) return "no RESPONSE to INITIATION";
  Outcome outcome;
  const HostConfig config = host_config(line, "probe");
  base::SeededRandom random(config.process);
  Host host(line, config, random, outcome);
  const bool is_good = host.attach() && host.expect_serving("a probe that is served");
  host.leave();
  return is_good ? std::string() : outcome.expected() + ": " + outcome.received();
}

bool Suite::is_reachable() {
  Line& line = *lines_.front();
  if (!begin_process(line)) return false;
  base::SeededRandom random(config_.seed);
  Outcome outcome;
  Host host(line, host_config(line, "probe"), random, outcome);
  // The first one may meet a carrier that is not set up yet.
  for (const base::Time until = line.now() + config_.timeout; line.now() < until;) {
    host.send(host.init(fabric::InitStep::kHello));
    if (line.receive(std::min<base::Time>(until, line.now() + kHelloEvery))) return true;
  }
  return false;
}

CaseResult Suite::run_one(const Case& one) {
  Line& line = *lines_[next_line_ % lines_.size()];
  Line& other_line = *lines_[(next_line_ + 1) % lines_.size()];
  next_line_ = (next_line_ + 1) % lines_.size();
  CaseResult result{.about = one};
  const base::Time begin = line.now();
  base::SeededRandom random(hash_of(one.id, config_.seed));
  Outcome outcome(one.level);
  if (!begin_process(line) || (one.is_of_two && !begin_process(other_line))) {
    outcome.fail("RESPONSE to INITIATION", "nothing that is one");
  }
  Host host(line, host_config(line, one.id), random, outcome);
  Host other(other_line, host_config(other_line, one.id + "#2"), random, outcome);
  if (one.is_of_two) {
    host.accompany(other);
    other.accompany(host);
  }
  if (outcome.is_good()) one.run(host, other);
  host.leave();
  if (one.is_of_two) other.leave();
  result.verdict = result.of_case = outcome.verdict();
  result.expected = outcome.expected();
  result.received = outcome.received();
  result.took = line.now() - begin;
  result.transcript = line.transcript();
  if (one.is_of_two) result.transcript.merge(other_line.transcript());
  const bool is_bad = is_failure(result.verdict) || result.verdict == Verdict::kWarn;
  if (one.may_harm || is_bad) look_for_harm(result);
  return result;
}

// One of the hosts may be refused for what it did; a target that refuses all of them serves nobody.
void Suite::look_for_harm(CaseResult& result) {
  std::string why;
  for (std::size_t i = 0; i < std::max(kProbes, lines_.size()); ++i) {
    why = try_probe(*lines_[(next_line_ + i) % lines_.size()]);
    if (why.empty()) return;
  }
  is_wedged_ = true;
  result.verdict = Verdict::kWedged;
  if (!result.expected.empty()) return;
  result.expected = "a target that serves a new host afterwards";
  result.received = why;
}

void Suite::run(const std::vector<Selected>& selected, const OnResult& on_result) {
  const bool is_keyed = lines_.front()->is_keyed();
  for (const Selected& one : selected) {
    std::string why = one.skipped_because;
    if (why.empty() && is_wedged_) why = "the target is wedged";
    if (why.empty() && one.about.links == Links::kPlain && is_keyed) why = "for links without keys";
    if (why.empty() && one.about.links == Links::kKeyed && !is_keyed) why = "for links with keys";
    if (why.empty() && one.about.is_of_two && lines_.size() < 2) why = "needs a second host";
    if (why.empty()) {
      on_result(run_one(one.about));
      continue;
    }
    CaseResult skipped{.about = one.about, .verdict = Verdict::kSkip, .expected = why};
    on_result(skipped);
  }
}

}  // namespace splitnic::conformance
