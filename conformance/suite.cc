#include "conformance/suite.h"

#include <algorithm>

#include "base/check.h"
#include "conformance/expectations.h"
#include "fabric_emul/session/peer.h"

namespace splitnic::conformance {
namespace {

constexpr base::Duration kHelloEvery = std::chrono::milliseconds(100);

}  // namespace

Suite::Suite(std::span<Line* const> lines, const SuiteConfig& config)
    : Runner(Role::kHost, !lines.empty() && lines.front()->is_keyed(), lines.size()),
      lines_(lines.begin(), lines.end()),
      config_(config),
      profile_(config.is_shm ? fabric::LinkProfile::kShm : fabric::LinkProfile::kSpeed) {
  CHECK(!lines_.empty());
  for (Line* const& line : lines_) observe({&line, 1});
}

// A host with a key has the EUI-64 of its key, and may have only that. Two processes never have one
// instance: not in a run, and not in two runs.
EndConfig Suite::host_config(Line& line, std::string_view of) {
  base::SeededRandom of_name(seed_of(of, config_.seed ^ config_.run));
  base::SeededRandom of_process(seed_of("process", config_.seed ^ config_.run) + processes_++);
  EndConfig config;
  config.eui64 = line.is_keyed() ? fabric::Eui64(session::eui64_of(line.session().public_key()))
                                 : fabric::local_eui64(of_name.next());
  config.process = of_process.next();
  config.instance = of_process.next() | 1;
  config.profile = profile_;
  config.crc_head_only = config_.is_shm;
  config.timeout = config_.timeout;
  return config;
}

std::string Suite::try_probe(std::size_t number) {
  Line& line = *lines_[(next_line_ + number) % lines_.size()];
  if (!line.begin_process(config_.timeout)) return "no RESPONSE to INITIATION";
  Outcome outcome;
  const EndConfig config = host_config(line, "probe");
  base::SeededRandom random(config.process);
  Host host(line, config, random, outcome);
  const bool is_good = host.attach() && expect_serving(host, "a probe that is served");
  host.leave();
  return is_good ? std::string() : outcome.expected() + ": " + outcome.received();
}

bool Suite::is_reachable() {
  Line& first = *lines_.front();
  if (!first.begin_process(config_.timeout)) return false;
  if (!gets_reply(first)) {
    note_stranger(first.transcript());
    return false;
  }
  if (first.is_keyed()) return true;  // the other keys may be of no host that may attach
  for (Line* const line : lines_) {
    if (line != &first) gets_reply(*line);
  }
  return true;
}

// The first HELLO may meet a carrier that is not set up yet.
bool Suite::gets_reply(Line& line) {
  base::SeededRandom random(config_.seed);
  Outcome outcome;
  Host host(line, host_config(line, "probe"), random, outcome);
  const base::Time until = line.now() + config_.timeout;
  while (line.now() < until) {
    host.send(host.init(fabric::InitStep::kHello));
    const auto again = std::min<base::Time>(until, line.now() + kHelloEvery);
    while (const auto reply = line.receive(again)) {
      if (is_from_peer(*reply, line.transcript())) {
        learn_profile(*reply);
        return true;
      }
      if (line.now() >= again) break;  // a flood does not prolong the time
    }
  }
  return false;
}

// [P-INIT-12]
void Suite::learn_profile(base::Bytes datagram) {
  fabric::FlitView flit;
  fabric::Init init;
  if (config_.is_shm || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
      flit.header.type != fabric::FlitType::kInit ||
      fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
    return;
  }
  const bool is_refused =
      init.step == fabric::InitStep::kRefuse && init.reason == fabric::InitReason::kProfile;
  if (is_refused && init.profile == fabric::LinkProfile::kFull) profile_ = init.profile;
}

void Suite::play(const Case& one, CaseResult& result) {
  Line& line = *lines_[next_line_ % lines_.size()];
  Line& other_line = *lines_[(next_line_ + 1) % lines_.size()];
  next_line_ = (next_line_ + 1) % lines_.size();
  const bool is_of_two = one.ends > 1;
  const base::Time begin = line.now();
  base::SeededRandom random(seed_of(one.id, config_.seed));
  Outcome outcome(one.level);
  if (!line.begin_process(config_.timeout) ||
      (is_of_two && !other_line.begin_process(config_.timeout))) {
    outcome.fail("RESPONSE to INITIATION", "nothing that is one");
  }
  Host host(line, host_config(line, one.id), random, outcome);
  Host other(other_line, host_config(other_line, one.id + "#2"), random, outcome);
  if (is_of_two) {
    host.accompany(other);
    other.accompany(host);
  }
  if (outcome.is_good()) one.run(host, other);
  host.leave();
  if (is_of_two) other.leave();
  result.verdict = outcome.verdict();
  result.expected = outcome.expected();
  result.received = outcome.received();
  result.took = line.now() - begin;
  result.transcript = line.transcript();
  if (is_of_two) result.transcript.merge(other_line.transcript());
}

}  // namespace splitnic::conformance
