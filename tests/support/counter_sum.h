// The sum of all counters of one name. A name that no counter has stops the test: it would be 0
// whatever the code does.
//   EXPECT_EQ(counter_of(adapter, "fabric.tx.rnr"), 0U);
// Of several objects together:
//   CounterSum sum("fabric.tx.rnr");
//   adapter.visit_counters(sum.visitor());
//   EXPECT_EQ(sum.value(), 0U);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/counters.h"

namespace splitnic::support {

class CounterSum {
 public:
  explicit CounterSum(std::string_view name) : name_(name) {}

  // The visitor refers to this object.
  base::CounterVisitor visitor() {
    return [this](std::string_view name, std::uint64_t value) {
      if (name != name_) return;
      is_known_ = true;
      sum_ += value;
    };
  }
  std::uint64_t value() const {
    if (!is_known_) base::check_failed(("is a counter: " + name_).c_str(), __FILE__, __LINE__);
    return sum_;
  }

 private:
  const std::string name_;
  bool is_known_ = false;
  std::uint64_t sum_ = 0;
};

// `counted` has visit_counters().
template <class Counted>
std::uint64_t counter_of(const Counted& counted, std::string_view name) {
  CounterSum sum(name);
  counted.visit_counters(sum.visitor());
  return sum.value();
}

}  // namespace splitnic::support
