// One measurement of the fabric, its result, and the table that shows it. For `splitnic bench` and
// tests/bench/fabric.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/verbs/verbs.h"

namespace splitnic::bench {

// kFetchOp: an atomic addition to one word at the other end. kDatagrams: tests/bench/fabric.
enum class Op : std::uint8_t { kWrite, kSend, kRead, kFetchOp, kDatagrams };
std::string_view name(Op op);
// The adapter of the passive end responds; its consumer gets no message.
constexpr bool has_response(Op op) { return op == Op::kRead || op == Op::kFetchOp; }
inline constexpr std::size_t kFetchOpBytes = 8;  // of every FetchOp

// In the immediate data of a message: what the passive end does with it. It counts all but reports,
// replies to kReply with a message of the same length, and to kReport, an empty Send, with another
// one.
enum class Word : std::uint32_t { kCount, kReply, kReport };

struct Run {
  Op op = Op::kWrite;
  fabric::Service service = fabric::Service::kRc;
  std::size_t queue_pairs = 1;  // at each end; of RD one or several
  std::size_t pieces = 1;  // of local memory that each message is gathered from, or scattered to
  bool is_shm = false;
  bool is_loopback = false;  // both ends are in one adapter
  bool spins = false;
  std::size_t bytes = 64;
  double seconds = 1;
  double loss_percent = 0;  // of what the passive end receives (tests/bench/fabric)
  bool goes_back_n = false;
};

// One row of the table. A value that was not measured is 0 and shown as "-".
struct Row {
  std::string carrier;
  std::string op;
  std::string service;  // "": the row is one of a table without services
  std::size_t queue_pairs = 1;
  std::size_t pieces = 1;
  bool spins = false;
  std::size_t bytes = 0;
  double seconds = 0;  // for `messages` in one direction
  std::size_t messages = 0;
  double median_us = 0;  // half a round trip
  double mean_us = 0;
  // Messages that nobody repeats and that did not arrive, with round trips without a reply; in
  // tests/bench/fabric datagrams, on purpose.
  std::optional<std::size_t> lost;
  double rate() const { return seconds > 0 ? static_cast<double>(messages) / seconds : 0; }
};
// has_services: for rows with a service.
void print_head(bool has_services = false);
void print(const Row& row);
// Fills median_us and mean_us from times of round trips; changes their order.
void take_round_trips(std::vector<float>& nanoseconds, Row& row);

inline constexpr std::array<std::size_t, 11> kSizes = {1,    4,     16,    64,     256,    1024,
                                                       4096, 16384, 65536, 262144, 1048576};
inline constexpr std::size_t kSizeMax = 1048576;
// Returns how many messages of this length are in flight, each in a separate slot.
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

}  // namespace splitnic::bench
