// A case: one rule of the protocol, and an exchange that shows whether the target keeps it. The
// cases of one part of the protocol are in one file of conformance/cases; cases() has all of them
// in the order of a run.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/host.h"

namespace splitnic::conformance {

// The links that a case is about.
enum class Links : std::uint8_t { kAny, kPlain, kKeyed };

struct Case {
  std::string id{};           // group.name
  std::string clause{};       // of the specification
  std::string description{};  // one sentence
  Links links = Links::kAny;
  Level level = Level::kMust;
  bool may_harm = false;   // afterwards a new host must be served
  bool is_of_two = false;  // needs a second host
  std::function<void(Host& host, Host& other)> run{};

  std::string group() const { return id.substr(0, id.find('.')); }
};

// Collects the cases of a group.
class Group {
 public:
  using Run = std::function<void(Host&)>;
  explicit Group(std::string name) : name_(std::move(name)) {}

  // A case after which the target serves the same host, as it checks itself.
  Case& add(const std::string& name, const std::string& clause, const std::string& description,
            Run run) {
    all_.push_back({.id = name_ + "." + name, .clause = clause, .description = description});
    all_.back().run = [run = std::move(run)](Host& host, Host&) { run(host); };
    return all_.back();
  }
  // One after which the target must serve a new host.
  Case& add_harmful(const std::string& name, const std::string& clause,
                    const std::string& description, Run run) {
    Case& added = add(name, clause, description, std::move(run));
    added.may_harm = true;
    return added;
  }
  Case& add_of_two(const std::string& name, const std::string& clause,
                   const std::string& description, std::function<void(Host&, Host&)> run) {
    all_.push_back({.id = name_ + "." + name, .clause = clause, .description = description});
    all_.back().is_of_two = true;
    all_.back().run = std::move(run);
    return all_.back();
  }
  std::vector<Case> take() { return std::move(all_); }

 private:
  std::string name_;
  std::vector<Case> all_;
};

std::vector<Case> link_cases();
std::vector<Case> flit_cases();
std::vector<Case> cell_cases();
std::vector<Case> transport_cases();
std::vector<Case> loss_cases();
std::vector<Case> connection_cases();
std::vector<Case> message_cases();
std::vector<Case> pool_cases();
std::vector<Case> data_cases();
std::vector<Case> frame_cases();
std::vector<Case> cfg_cases();
std::vector<Case> nic_cases();
std::vector<Case> key_cases();

// Cases with which the suite is a host, against an I/O unit.
std::vector<Case> cases();

}  // namespace splitnic::conformance
