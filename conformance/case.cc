#include "conformance/case.h"

#include <iterator>

namespace splitnic::conformance {

std::vector<Case> cases() {
  std::vector<Case> all;
  for (auto* group : {&link_cases, &flit_cases, &cell_cases, &transport_cases, &loss_cases,
                      &connection_cases, &message_cases, &pool_cases, &data_cases, &frame_cases,
                      &cfg_cases, &nic_cases, &key_cases}) {
    auto some = group();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace splitnic::conformance
