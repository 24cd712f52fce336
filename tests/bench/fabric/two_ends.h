// The two processes of a benchmark, the socket between them, and the table that they print. The
// passive one serves, the active one measures; each may be in a network namespace of its own.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace splitnic::bench {

// Says why on standard error and ends this process.
[[noreturn]] void fail(const std::string& why);

struct Ends {
  std::string active_netns, passive_netns;  // as ip-netns(8) names them; empty: the caller's
  std::string address = "127.0.0.1";        // where the passive end listens
  bool is_pinned = false;                   // a processor for each, if there are two
};

// What the two tell each other besides what is measured.
class Control {
 public:
  explicit Control(base::UniqueFd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  // The other end has said something, or has ended.
  bool is_readable() const;
  void tell(std::span<const std::byte> bytes);
  // The next message, cut to the room there is; ends this process if the other one has ended.
  std::size_t hear(std::span<std::byte> room);

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void tell_value(const T& value) { tell(std::as_bytes(std::span(&value, 1))); }
  template <class T>
  requires std::is_trivially_copyable_v<T> T hear_value() {
    T value{};
    if (hear(std::as_writable_bytes(std::span(&value, 1))) != sizeof value) fail("wrong message");
    return value;
  }

 private:
  base::UniqueFd fd_;
};

using Body = std::function<void(Control&)>;
// Runs both, each in a process of its own, until they return. False if one of them failed.
bool run_two(const Ends& ends, const Body& passive, const Body& active);

// What one row of the table says. A figure that was not measured is 0 and shown as "-".
struct Row {
  std::string carrier;
  std::string op;
  bool spins = false;
  std::size_t bytes = 0;
  double seconds = 0;  // for so many messages in one direction
  std::size_t messages = 0;
  double median_us = 0;  // half a round trip
  double mean_us = 0;
  std::size_t lost = 0;  // datagrams, on purpose
};
void print_head();
void print(const Row& row);
// Fills median_us and mean_us from times of round trips; changes their order.
void take_round_trips(std::vector<float>& nanoseconds, Row& row);

inline constexpr std::array<std::size_t, 11> kSizes = {1,    4,     16,    64,     256,    1024,
                                                       4096, 16384, 65536, 262144, 1048576};
inline constexpr std::size_t kSizeMax = 1048576;
// How many messages of this length are under way, each in memory of its own.
constexpr std::size_t slots_for(std::size_t bytes) {
  constexpr std::size_t kMemory = std::size_t{4} << 20;
  const std::size_t fit = kMemory / bytes;
  return fit < 4 ? 4 : fit > 1024 ? 1024 : fit;
}
constexpr std::size_t slot_stride(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }
// More round trips than this are not timed.
inline constexpr std::size_t kRoundTripsMax = std::size_t{1} << 20;
// Without any progress for so long a run has failed.
inline constexpr base::Duration kSilenceMax = std::chrono::seconds(10);
inline base::Duration seconds_of(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}
inline double seconds_in(base::Duration d) { return std::chrono::duration<double>(d).count(); }

// "64" or "all"; ends this process if it is neither.
std::vector<std::size_t> sizes_of(std::string_view text);
double number_of(std::string_view option, std::string_view text, double least, double most);
// "A,B" of --netns.
void take_netns(std::string_view text, Ends& ends);

}  // namespace splitnic::bench
