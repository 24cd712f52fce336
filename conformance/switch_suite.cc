#include "conformance/switch_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "conformance/case.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/session/peer.h"

namespace splitnic::conformance {
namespace {

constexpr std::uint64_t kLocalBit = std::uint64_t{2} << 56;
constexpr std::uint64_t kLowBits = (std::uint64_t{1} << 56) - 1;

std::string key_line(const std::vector<session::PublicKey>& keys, std::size_t number) {
  if (keys.empty()) return {};
  return "key = \"" + session::base64_of(keys.at(number).bytes) + "\"\n";
}

}  // namespace

fabric::Lid lid_at(std::size_t port) {
  return port == kCablePort ? kNeighbourLid : fabric::Lid(static_cast<std::uint16_t>(10 + port));
}

std::string name_at(std::size_t port) {
  return port == kCablePort ? "neighbour" : "node" + std::to_string(port);
}

std::string switch_topology(std::size_t ports, const std::vector<session::PublicKey>& keys) {
  CHECK(ports >= 1 && ports <= kSwitchPorts && (keys.empty() || keys.size() == ports + 1));
  const bool has_cable = ports == kCablePort;
  std::string text =
      fmt::format("# For: splitnic-switch --name {} --topology THIS_FILE\n", kSwitchName);
  if (has_cable)
    text += fmt::format("cables = [\"{}:{} - neighbour:1\"]\n", kSwitchName, kCablePort);
  text += fmt::format("\n[switches.{}]\nlid = {}\n{}", kSwitchName, kSwitchLid.value,
                      key_line(keys, ports));
  if (has_cable) {
    text += fmt::format("[switches.neighbour]\nlid = {}\n{}", kNeighbourLid.value,
                        key_line(keys, kCablePort - 1));
  }
  for (std::size_t port = 1; port <= std::min(ports, kCablePort - 1); ++port) {
    text += fmt::format("[nodes.{}]\nlid = {}\nat = \"{}:{}\"\n{}", name_at(port),
                        lid_at(port).value, kSwitchName, port, key_line(keys, port - 1));
  }
  if (has_cable)
    text += fmt::format("[nodes.far]\nlid = {}\nat = \"neighbour:2\"\n", kFarLid.value);
  return text;
}

SwitchSuite::SwitchSuite(std::span<Line* const> lines, const SuiteConfig& config)
    : Runner(Role::kNodes, !lines.empty() && lines.front()->is_keyed(), lines.size()),
      lines_(lines.begin(), lines.end()),
      config_(config) {
  CHECK(!lines_.empty() && lines_.size() <= kSwitchPorts);
}

// A port has one peer: without keys its identity is the same in every run.
EndConfig SwitchSuite::config_of(std::size_t port) {
  Line& line = *lines_.at(port - 1);
  base::SeededRandom of_process(seed_of("process", config_.seed ^ config_.run) + processes_++);
  EndConfig config;
  config.eui64 = line.is_keyed()
                     ? fabric::Eui64(session::eui64_of(line.session().public_key()))
                     : fabric::Eui64(kLocalBit | (seed_of(name_at(port), 1) & kLowBits));
  config.process = of_process.next();
  config.instance = of_process.next() | 1;
  config.timeout = config_.timeout;
  config.target_port = static_cast<std::uint8_t>(port);
  if (port == kCablePort) {
    config.port = 1;
    config.lid = kNeighbourLid;
  }
  return config;
}

bool SwitchSuite::is_reachable() { return try_probe(0).empty(); }

std::string SwitchSuite::try_probe(std::size_t number) {
  const std::size_t port = number % lines_.size() + 1;
  Line& line = *lines_[port - 1];
  if (!line.begin_process(config_.timeout)) return "no RESPONSE to INITIATION";
  Outcome outcome;
  const EndConfig config = config_of(port);
  base::SeededRandom random(config.process);
  Node node(line, config, random, outcome);
  const bool is_good =
      node.link() && node.ask(fabric::MgmtKind::kResolve, name_at(1), "RESOLVED").has_value();
  node.leave();
  return is_good ? std::string() : outcome.expected() + ": " + outcome.received();
}

void SwitchSuite::play(const Case& one, CaseResult& result) {
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
  Nodes of_case(all);
  if (outcome.is_good()) one.run_as_nodes(of_case);
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
