#include "conformance/unit_suite.h"

#include "conformance/expectations.h"
#include "fabric_emul/session/peer.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr int kWaits = 30;
// A host that was refused several times waits for up to 1 s, and so does its HELLO.
constexpr base::Duration kReconnect = 3s;

// Whether a case has changed what INIT states.
bool has_own_link(const Terms& terms) {
  const Terms usual;
  return terms.lanes != usual.lanes || terms.granted_blocks != usual.granted_blocks ||
         terms.receive_buffer_bytes != usual.receive_buffer_bytes;
}

}  // namespace

UnitSuite::UnitSuite(Line& line, const SuiteConfig& config)
    : Runner(Role::kUnit, line.is_keyed(), 1), line_(line), config_(config) {
  Line* const only = &line_;
  observe({&only, 1});
  base::SeededRandom random(seed_of("unit", config.seed ^ config.run));
  link_.instance = random.next() | 1;
  link_.token = random.next() | 1;
  link_.reconnect = kReconnect + 2 * config.timeout;
  if (config.is_shm) link_.profile = fabric::LinkProfile::kShm;
}

EndConfig UnitSuite::config_of_unit() {
  EndConfig config;
  config.eui64 = line_.is_keyed()
                     ? fabric::Eui64(session::eui64_of(line_.responder().public_key()))
                     : fabric::local_eui64(seed_of("eui64", config_.seed ^ config_.run));
  config.instance = link_.instance;
  config.process = seed_of("process " + std::to_string(processes_++), config_.seed ^ config_.run);
  config.crc_head_only = config_.is_shm;
  config.timeout = config_.timeout;
  return config;
}

bool UnitSuite::is_reachable() {
  line_.begin();
  for (const base::Time until = line_.now() + kWaits * config_.timeout; line_.now() < until;) {
    base::SeededRandom random(config_.seed);
    Outcome outcome;
    Unit unit(line_, link_, config_of_unit(), random, outcome);
    unit.listen(config_.timeout);
    if (!unit.is_linked()) continue;
    serves_ = try_connection().empty();
    return true;
  }
  note_stranger(line_.transcript());
  return false;
}

void UnitSuite::play(const Case& one, CaseResult& result) {
  const base::Time begin = line_.now();
  line_.begin();
  base::SeededRandom random(seed_of(one.id, config_.seed));
  Outcome outcome(one.level);
  Unit unit(line_, link_, config_of_unit(), random, outcome);
  one.run_as_unit(unit);
  unit.leave();
  if (has_own_link(unit.terms)) unit.end_link();  // its terms are of this case only
  result.verdict = outcome.verdict();
  result.expected = outcome.expected();
  result.received = outcome.received();
  result.took = line_.now() - begin;
  result.transcript = line_.transcript();
}

std::string UnitSuite::try_probe(std::size_t) {
  if (serves_) return try_connection();
  line_.begin();
  base::SeededRandom random(config_.seed);
  Outcome outcome;
  Unit unit(line_, link_, config_of_unit(), random, outcome);
  return unit.await_link() ? std::string() : outcome.expected() + ": " + outcome.received();
}

std::string UnitSuite::try_connection() {
  line_.begin();
  base::SeededRandom random(config_.seed);
  Outcome outcome;
  Unit unit(line_, link_, config_of_unit(), random, outcome);
  const bool is_good = (unit.connect() && expect_serving(unit, "a host that serves")) ||
                       outcome.verdict() == Verdict::kSkip;  // it has asked for a connection
  unit.leave();
  return is_good ? std::string() : outcome.expected() + ": " + outcome.received();
}

void UnitSuite::end() {
  base::SeededRandom random(config_.seed);
  Outcome outcome;
  Unit unit(line_, link_, config_of_unit(), random, outcome);
  unit.end_link();
}

}  // namespace splitnic::conformance
