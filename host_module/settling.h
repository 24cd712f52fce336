// Callers that wait for the I/O unit's reply. Each is called once, with the reason if the unit
// refused what the interface had at the time of the request. Thread: its owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lan_bridge/frame_port.h"
#include "messaging/channel_pair.h"

namespace splitnic::host {

class Settling {
 public:
  using Done = std::function<void(const std::optional<std::string>& why)>;
  using WhyOf = std::function<std::optional<std::string>(messaging::CfgCode code,
                                                         const lan::PortState& asked)>;
  static constexpr std::size_t kWaitingMax = 64;

  // `asked`: the interface now. If kWaitingMax wait already, `done` is called at once, with that as
  // the reason.
  void add(messaging::CfgCode code, const lan::PortState& asked, Done done) {
    if (waiting_.size() == kWaitingMax) return done("too many changes wait for the I/O unit");
    waiting_.push_back({code, asked, std::move(done)});
  }
  // Calls those that wait for this code, or all.
  void end(std::optional<messaging::CfgCode> code, const WhyOf& why_of) {
    const auto of_code = [&](const Waiting& one) { return !code || one.code == *code; };
    std::vector<Waiting> ended;
    std::ranges::copy_if(waiting_, std::back_inserter(ended), of_code);
    std::erase_if(waiting_, of_code);
    for (const Waiting& one : ended) one.done(why_of(one.code, one.asked));
  }

 private:
  struct Waiting {
    messaging::CfgCode code;
    lan::PortState asked;
    Done done;
  };

  std::vector<Waiting> waiting_;
};

}  // namespace splitnic::host
