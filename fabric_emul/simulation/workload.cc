#include "fabric_emul/simulation/workload.h"

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/parse_number.h"

namespace splitnic::fabric::simulation {
namespace {

using Kind = Workload::Kind;

struct WorkloadName {
  std::string_view text;
  Kind kind;
  bool has_parameter;
  std::uint32_t parameter;  // without one
};

constexpr auto kWorkloads =
    std::to_array<WorkloadName>({{"all-to-all", Kind::kAllToAll, false, 0},
                                 {"permutation", Kind::kPermutation, false, 0},
                                 {"uniform", Kind::kUniform, false, 0},
                                 {"incast", Kind::kIncast, true, 0},
                                 {"hotspot", Kind::kHotspot, true, 10}});

constexpr std::uint32_t kPercentMax = 100;

constexpr std::uint32_t max_of(Kind kind) {
  return kind == Kind::kHotspot ? kPercentMax : std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

base::Result<Workload> parse_workload(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view parameter =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  for (const WorkloadName& known : kWorkloads) {
    if (text.substr(0, colon) != known.text) continue;
    Workload workload{.kind = known.kind, .parameter = known.parameter};
    if (colon == std::string_view::npos) return workload;
    const auto number = base::parse_number<std::uint32_t>(parameter, 1, max_of(known.kind));
    if (!known.has_parameter || !number) continue;
    workload.parameter = *number;
    return workload;
  }
  return base::Error("'" + std::string(text) +
                     "' is not all-to-all, permutation, uniform, incast[:SENDERS] or "
                     "hotspot[:PERCENT]");
}

base::Result<Destinations> Destinations::make(const Workload& workload, std::size_t nodes,
                                              base::Random& random) {
  if (workload.kind == Kind::kIncast && workload.parameter >= nodes) {
    return base::Error("incast of " + std::to_string(workload.parameter) + " senders: there are " +
                       std::to_string(nodes) + " nodes");
  }
  Destinations made(workload, nodes, random);
  if (workload.kind == Kind::kPermutation) made.make_permutation();
  return made;
}

// Of one cycle, so nobody sends to itself (Sattolo, 1986).
void Destinations::make_permutation() {
  for (std::size_t i = 0; i < nodes_; ++i) last_[i] = static_cast<std::uint16_t>(i);
  for (std::size_t i = nodes_ - 1; i > 0; --i) std::swap(last_[i], last_[random_->below(i)]);
}

bool Destinations::sends(std::uint16_t node) const {
  if (workload_.kind != Kind::kIncast) return true;
  return node != 0 && (workload_.parameter == 0 || node <= workload_.parameter);
}

std::uint16_t Destinations::any_other(std::uint16_t node) {
  const auto other = static_cast<std::uint16_t>(random_->below(nodes_ - 1));
  return other < node ? other : static_cast<std::uint16_t>(other + 1);
}

std::uint16_t Destinations::next(std::uint16_t node) {
  switch (workload_.kind) {
    case Kind::kAllToAll:
      last_[node] = static_cast<std::uint16_t>(last_[node] % (nodes_ - 1) + 1);
      return static_cast<std::uint16_t>((node + last_[node]) % nodes_);
    case Kind::kPermutation:
      return last_[node];
    case Kind::kIncast:
      return 0;
    case Kind::kHotspot:
      if (node != 0 && random_->below(kPercentMax) < workload_.parameter) return 0;
      break;
    case Kind::kUniform:
      break;
  }
  return any_other(node);
}

}  // namespace splitnic::fabric::simulation
