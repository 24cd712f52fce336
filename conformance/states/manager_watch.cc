// The states of a switch that manages its subnet. Its requests show them: those of a sweep, GET
// TABLE, and both stages of SET TABLE. That it rests the next sweep shows, and what it has done
// about its own switch shows on no line. docs/protocol/subnet.md#sweep
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "conformance/states/watch.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Smp;
using fabric::SmpAttribute;
using fabric::SmpMethod;
using fabric::SmpStatus;
using fabric::SmpTable;

// P-SUBN-13: a sweep begins 500 ms after the one before, or at once for TRAP.
constexpr base::Duration kAtOnceMax = 250ms;
// A sweep without a table request may have set the manager's own table: the second one has not.
constexpr unsigned kQuietMin = 2;
constexpr std::size_t kRequestsMax = 4096;  // of one state: more are a flood

using Route = std::vector<std::uint8_t>;

Route route_of(const Smp& smp) {
  const auto used = smp.route.used();
  return {used.begin(), used.end()};
}

class ManagerWatch final : public Watch {
 public:
  explicit ManagerWatch(Coverage& coverage) : coverage_(coverage) {}

  void on(const Seen& seen) override {
    if (seen.kind == SeenKind::kProcess) return forget();
    if (seen.kind != SeenKind::kSmp) return;
    const Smp& smp = seen.smp;
    const bool is_request = smp.method == SmpMethod::kGet || smp.method == SmpMethod::kSet;
    // SMPs that the target forwards, or is to forward, have another hop.
    if (!seen.is_sent() && is_request && smp.hop == 1) on_request(smp, seen.at);
    if (!seen.is_sent() || smp.hop != smp.route.hops) return;
    if (smp.method == SmpMethod::kTrap) has_trap_ = true;
    if (smp.method == SmpMethod::kReply) on_reply(smp);
  }

 private:
  enum class State : std::uint8_t { kUnknown, kSweep, kRead, kClear, kSet };
  struct Request {
    SmpAttribute attribute{};
    Route route{};
    std::size_t attempts = 1;
    SmpTable part{};  // of TABLE, without the ports
    bool is_replied = false, is_left_out = false;
    bool is_counted = false;  // among the parts that were replied to
  };

  void reach(std::string_view edge) { coverage_.reach("subnet manager", edge); }
  void reach_from_here(std::string_view cause) {
    const std::string_view from = state_ == State::kSweep   ? "sweep"
                                  : state_ == State::kRead  ? "read"
                                  : state_ == State::kClear ? "clear"
                                                            : "set";
    reach(std::string(from) + "_" + std::string(cause));
  }

  void forget() {
    state_ = State::kUnknown;
    quiet_ = 0;
    has_trap_ = false;
    begin_state();
  }
  void begin_state() {
    requests_.clear();
    parts_replied_.clear();
    is_refused_ = differs_ = false;
  }

  void on_request(const Smp& smp, base::Time at) {
    if (smp.attribute == SmpAttribute::kLoad) return;  // in no state, and whatever the reply is
    const auto known = requests_.find(smp.transaction);
    if (known != requests_.end()) {
      Request& again = known->second;
      ++again.attempts;
      again.is_replied = again.is_left_out = false;  // what came was not its reply
      return;
    }
    if (requests_.size() > kRequestsMax) forget();
    Request request{.attribute = smp.attribute, .route = route_of(smp)};
    if (smp.attribute == SmpAttribute::kTable) {
      if (fabric::parse_smp_table(smp.body, request.part) != fabric::SmpError::kNone) return;
      request.part.ports = {};
      on_table_request(smp.method == SmpMethod::kGet                   ? State::kRead
                       : request.part.stage == SmpTable::Stage::kClear ? State::kClear
                                                                       : State::kSet);
    } else if (smp.attribute == SmpAttribute::kManager) {
      on_first_request(request.route, at);
    } else if (!asked_.contains(request.route)) {
      return;  // to an end node, which no sweep asks
    } else if (state_ == State::kSweep && obeying_.contains(request.route)) {
      reach("obeyed");
    }
    requests_.emplace(smp.transaction, std::move(request));
  }

  // SET MANAGER to a switch that this sweep has asked is of the next one.
  void on_first_request(const Route& route, base::Time at) {
    if (state_ != State::kSweep || asked_.contains(route)) begin_sweep(at);
    asked_.insert(route);
    if (route.size() > 1 && reported_.contains(Route(route.begin(), route.end() - 1))) {
      reach("reported");
    }
  }

  void on_table_request(State to) {
    if (to == state_) return;
    if (state_ == State::kSweep) {
      settle_sweep();
      reach(to == State::kRead ? "unknown" : to == State::kClear ? "sweep_clear" : "sweep_set");
    } else if (state_ == State::kRead && to != State::kRead) {
      reach(to == State::kClear ? "read_clear" : "read_set");
    } else if (state_ == State::kClear && to == State::kSet && is_done()) {
      reach("clear_set");
    }
    quiet_ = 0;
    state_ = to;
    begin_state();
  }

  void begin_sweep(base::Time at) {
    const bool has_rested = end_state();
    const base::Duration since = at - swept_at_;
    if (has_rested && has_trap_ && since < kAtOnceMax) reach("trap");
    if (has_rested && !has_trap_ && since >= kAtOnceMax) reach("due");
    has_trap_ = false;
    swept_at_ = at;
    state_ = State::kSweep;
    begin_state();
    asked_.clear();
    obeying_.clear();
    reported_.clear();
  }
  // Returns whether it rested without a cause to sweep once more.
  bool end_state() {
    if (state_ == State::kUnknown) return false;
    if (is_refused_) {
      quiet_ = 0;
      reach_from_here("refused");
      return true;
    }
    if (state_ == State::kSweep) {
      settle_sweep();
      if (is_done() && ++quiet_ >= kQuietMin) reach("settled");
      return true;
    }
    quiet_ = 0;
    if (differs_) {
      reach_from_here("differs");
    } else if (is_done()) {
      if (state_ == State::kClear) reach("cleared");
      if (state_ == State::kSet) reach("set");
      return true;
    } else if (std::ranges::any_of(requests_, is_given_up)) {
      reach_from_here("silent");
    }
    return false;
  }

  // The target continues without these switches.
  void settle_sweep() {
    if (is_refused_) return;
    if (std::ranges::any_of(requests_, is_given_up)) reach("silent");
    if (std::ranges::any_of(requests_, [](const auto& one) { return one.second.is_left_out; })) {
      reach("left_out");
    }
  }

  using Requests = std::map<std::uint64_t, Request>;  // of the state, by transaction
  static bool is_given_up(const Requests::value_type& one) {
    return !one.second.is_replied && one.second.attempts > 1;
  }
  bool is_done() const {
    return !differs_ && std::ranges::all_of(requests_, [](const auto& one) {
      return one.second.is_replied && !one.second.is_left_out;
    });
  }

  void on_reply(const Smp& smp) {
    const auto at = requests_.find(smp.transaction);
    if (at == requests_.end() || at->second.attribute != smp.attribute || at->second.is_replied) {
      return;
    }
    Request& request = at->second;
    request.is_replied = true;
    const bool is_table = smp.attribute == SmpAttribute::kTable;
    // One that has no manager was started again.
    if (smp.status == SmpStatus::kRefused && (!is_table || smp.manager.lid != fabric::Lid())) {
      is_refused_ = true;
    } else if (is_table) {
      differs_ |= smp.status != SmpStatus::kDone || !is_of(request, smp);
    } else if (smp.status != SmpStatus::kDone) {
      request.is_left_out = true;
    } else {
      (smp.attribute == SmpAttribute::kManager ? obeying_ : reported_).insert(request.route);
    }
  }

  // Whether a reply has the block of its request, and behind the last part the check of the table.
  // A reply that crosses the retransmission of its request comes twice, and is one part.
  bool is_of(Request& request, const Smp& reply) {
    SmpTable part;
    if (fabric::parse_smp_table(reply.body, part) != fabric::SmpError::kNone) return false;
    if (part.block != request.part.block) return false;
    if (state_ == State::kRead) return !part.ports.empty();
    std::size_t& replied = parts_replied_[request.route];
    if (!std::exchange(request.is_counted, true)) ++replied;
    return replied != request.part.parts || part.check == request.part.check;
  }

  Coverage& coverage_;
  State state_ = State::kUnknown;
  Requests requests_;
  std::map<Route, std::size_t> parts_replied_;
  bool is_refused_ = false, differs_ = false;  // by a reply in this state
  // Of the sweep.
  std::set<Route> asked_, obeying_, reported_;
  base::Time swept_at_{};
  bool has_trap_ = false;  // since it began
  unsigned quiet_ = 0;     // sweeps in a row that no request for a table followed
};

}  // namespace

std::unique_ptr<Watch> watch_manager(Coverage& coverage) {
  return std::make_unique<ManagerWatch>(coverage);
}

}  // namespace splitnic::conformance
