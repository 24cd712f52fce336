// The senders of a simulation and their destinations. Each sender offers cells at a constant rate,
// from a phase that is random; the rest of the randomness is in the destinations. Pure but for the
// generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"

namespace splitnic::fabric::simulation {

struct Workload {
  enum class Kind : std::uint8_t { kAllToAll, kPermutation, kUniform, kIncast, kHotspot };
  Kind kind = Kind::kAllToAll;
  // kIncast: how many nodes send to the first one, 0: all; kHotspot: percent of the cells that go
  // to the first node.
  std::uint32_t parameter = 0;
  std::uint32_t load_percent = 100;  // of the rate of its link, by each sender
};

// all-to-all, permutation, uniform, incast[:SENDERS], hotspot[:PERCENT].
base::Result<Workload> parse_workload(std::string_view text);

class Destinations {
 public:
  // REQUIRES two nodes at least. An error: an incast of more senders than there are.
  static base::Result<Destinations> make(const Workload& workload, std::size_t nodes,
                                         base::Random& random);

  bool sends(std::uint16_t node) const;
  // The destination of the next cell. REQUIRES sends(node).
  std::uint16_t next(std::uint16_t node);

 private:
  Destinations(const Workload& workload, std::size_t nodes, base::Random& random)
      : workload_(workload), nodes_(nodes), random_(&random), last_(nodes) {}
  void make_permutation();
  std::uint16_t any_other(std::uint16_t node);

  Workload workload_;
  std::size_t nodes_;
  base::Random* random_;
  // By the sender: of a permutation its destination, else the distance to its last one.
  std::vector<std::uint16_t> last_;
};

}  // namespace splitnic::fabric::simulation
