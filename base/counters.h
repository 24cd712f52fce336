// Named counters: an enum indexes them on the data path, a table names them for `splitnic stats`.
//   enum class LinkCounter { kCellDropCrc, kCount_ };
//   template <> struct base::CounterNames<LinkCounter> { static constexpr std::array kNames{...};
//   };
// Owned by one thread; a snapshot is taken by visiting on that thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace splitnic::base {

template <typename Enum>
struct CounterNames;  // specialise: static constexpr std::array<std::string_view, N> kNames

using CounterVisitor = std::function<void(std::string_view name, std::uint64_t value)>;

template <typename Enum>
class Counters {
 public:
  static constexpr std::size_t kSize = static_cast<std::size_t>(Enum::kCount_);

  void add(Enum which, std::uint64_t n = 1) { values_[static_cast<std::size_t>(which)] += n; }
  std::uint64_t operator[](Enum which) const { return values_[static_cast<std::size_t>(which)]; }
  void visit(const CounterVisitor& visitor) const {
    static_assert(CounterNames<Enum>::kNames.size() == kSize, "every counter has a name");
    for (std::size_t i = 0; i < kSize; ++i) visitor(CounterNames<Enum>::kNames[i], values_[i]);
  }
  void merge(const Counters& other) {
    for (std::size_t i = 0; i < kSize; ++i) values_[i] += other.values_[i];
  }
  void clear() { values_.fill(0); }

 private:
  std::array<std::uint64_t, kSize> values_{};
};

}  // namespace splitnic::base
