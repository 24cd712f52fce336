#include "conformance/ports_suite.h"

#include "base/check.h"
#include "conformance/case.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/session/peer.h"

namespace splitnic::conformance {

std::string key_line(const std::vector<session::PublicKey>& keys, std::size_t number) {
  if (keys.empty()) return {};
  return "key = \"" + session::base64_of(keys.at(number).bytes) + "\"\n";
}

PortsSuite::PortsSuite(Role role, std::span<Line* const> lines, const SuiteConfig& config)
    : Runner(role, !lines.empty() && lines.front()->is_keyed(), lines.size()),
      lines_(lines.begin(), lines.end()),
      config_(config) {
  CHECK(!lines_.empty());
}

// A port has one peer: without keys its identity is the same in every run.
EndConfig PortsSuite::config_of(std::size_t port) {
  Line& line = *lines_.at(port - 1);
  const Place place = place_at(port);
  base::SeededRandom of_process(seed_of("process", config_.seed ^ config_.run) + processes_++);
  EndConfig config;
  config.eui64 = line.is_keyed() ? fabric::Eui64(session::eui64_of(line.session().public_key()))
                                 : fabric::local_eui64(seed_of(place.name, 1));
  config.process = of_process.next();
  config.instance = of_process.next() | 1;
  config.timeout = config_.timeout;
  config.target_port = static_cast<std::uint8_t>(port);
  config.partition.reset();
  if (place.lid != fabric::Lid()) {
    config.port = 1;
    config.lid = place.lid;
  }
  return config;
}

bool PortsSuite::is_reachable() {
  if (try_probe(0).empty()) return true;
  note_stranger(lines_.front()->transcript());
  return false;
}

std::string PortsSuite::try_probe(std::size_t number) {
  const std::size_t port = number % lines_.size() + 1;
  Line& line = *lines_[port - 1];
  if (!line.begin_process(config_.timeout)) return "no RESPONSE to INITIATION";
  Outcome outcome;
  const EndConfig of_port = config_of(port);
  base::SeededRandom random(of_port.process);
  Node node(line, of_port, random, outcome);
  const bool is_good = probe(node, port) && outcome.is_good();
  node.leave();
  return is_good ? std::string() : outcome.expected() + ": " + outcome.received();
}

void PortsSuite::play(const Case& one, CaseResult& result) {
  const base::Time begin = lines_.front()->now();
  base::SeededRandom random(seed_of(one.id, config_.seed));
  Outcome outcome(one.level);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node*> all;
  for (std::size_t port = 1; port <= one.ends; ++port) {
    if (!lines_[port - 1]->begin_process(config_.timeout)) {
      outcome.fail("RESPONSE to INITIATION", "nothing that is one");
    }
    nodes.push_back(std::make_unique<Node>(*lines_[port - 1], config_of(port), random, outcome));
    all.push_back(nodes.back().get());
  }
  for (Node* const node : all) {
    for (Node* const other : all) {
      if (other != node) node->accompany(*other);
    }
  }
  if (outcome.is_good()) run_case(one, all);
  for (Node* const node : all) node->leave();
  result.verdict = outcome.verdict();
  result.expected = outcome.expected();
  result.received = outcome.received();
  result.took = lines_.front()->now() - begin;
  result.transcript = lines_.front()->transcript();
  for (std::size_t i = 1; i < one.ends; ++i) {
    result.transcript.merge(lines_[i]->transcript(), static_cast<unsigned>(i));
  }
}

}  // namespace splitnic::conformance
