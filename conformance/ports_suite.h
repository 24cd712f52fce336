// The suite around a target with several ports: an end on each of its lines, which links as a node
// or a switch does. The derived classes decide what the ends play (switch_suite.h,
// manager_suite.h). All I/O is in the lines. Thread: one owner.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conformance/runner.h"
#include "fabric_emul/session/crypto.h"

namespace splitnic::conformance {

// Returns the line `key = "..."` with this key for a table of a topology file; "" without keys.
std::string key_line(const std::vector<session::PublicKey>& keys, std::size_t number);

class PortsSuite : public Runner {
 public:
  // Whether the probe of the first port succeeds.
  bool is_reachable() override;

 protected:
  // A line for each port of the target, from port 1 on. All outlive this. REQUIRES a line.
  PortsSuite(Role role, std::span<Line* const> lines, const SuiteConfig& config);

  // A neighbour at a port: its name, and of a switch its LID.
  struct Place {
    std::string name;
    fabric::Lid lid{};
  };
  virtual Place place_at(std::size_t port) const = 0;
  // Links the node and returns whether the target serves it at this port.
  virtual bool probe(Node& node, std::size_t port) = 0;
  // Plays the case with the ends of its ports, from port 1 on.
  virtual void run_case(const Case& one, const std::vector<Node*>& ends) = 0;

  const SuiteConfig& config() const { return config_; }

 private:
  std::string try_probe(std::size_t number) override;
  void play(const Case& one, CaseResult& result) override;
  EndConfig config_of(std::size_t port);

  const std::vector<Line*> lines_;
  const SuiteConfig config_;
  std::uint64_t processes_ = 0;  // that the ends have played: each case is another one
};

}  // namespace splitnic::conformance
