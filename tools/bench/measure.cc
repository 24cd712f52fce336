#include "tools/bench/measure.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/bench/bench_service.h"

namespace splitnic::bench {
namespace {

// On a service that repeats nothing: a message without a reply for so long is lost, it or its
// reply.
constexpr base::Duration kLostAfter = std::chrono::milliseconds(200);
constexpr unsigned kReportTries = 20;
// A reply has the number of one message only while there are fewer of them since the newest reply.
constexpr std::size_t kUncountedMax = 4096;
static_assert(kUncountedMax <= (MessageNumber::kMask + 1) / 4);

base::Error nothing_counted() {
  return base::Error("the other end does not report what has arrived: the path loses too much");
}

// Returns whether the reply has come.
base::Result<bool> take_round_trip(FabricEnd& end, const Run& run) {
  end.post(Word::kReply);
  end.transmit();
  const auto is_replied = [&] { return end.is_replied(); };
  if (!is_reliable(run.service)) return end.iterate_for(is_replied, kLostAfter);
  if (auto came = end.iterate_until(is_replied); !came) return came.error();
  return true;
}

base::Status measure_latency(FabricEnd& end, const Run& run, Row& row) {
  std::vector<float> took;
  took.reserve(kRoundTripsMax);
  std::size_t lost = 0;
  base::Time begin = end.now();
  const base::Time until = begin + seconds_of(run.seconds);
  while (begin < until && took.size() < kRoundTripsMax) {
    const auto came = take_round_trip(end, run);
    if (!came) return came.error();
    const base::Time now = end.now();
    if (*came) {
      took.push_back(static_cast<float>((now - begin).count()));
    } else {
      ++lost;
    }
    begin = now;
  }
  take_round_trips(took, row);
  if (is_reliable(run.service)) {
    return end.iterate_until([&] { return end.open() == 0; });
  }
  row.lost = lost;
  return {};
}

// Keeps the window full for `seconds`, then waits for the rest.
base::Status stream_acknowledged(FabricEnd& end, double seconds, Row& row) {
  const std::size_t before = end.posted();
  const base::Time begin = end.now();
  const base::Time until = begin + seconds_of(seconds);
  for (base::Time now = begin; now < until; now = end.now()) {
    while (end.open() < end.in_flight_max()) end.post(Word::kCount);
    end.transmit();
    const std::size_t known = end.open();
    if (auto sent = end.iterate_until([&] { return end.open() < known; }); !sent) return sent;
  }
  if (auto rest = end.iterate_until([&] { return end.open() == 0; }); !rest) return rest;
  row.messages = end.posted() - before;
  row.seconds = seconds_in(end.now() - begin);
  return {};
}

// Until all that was posted is counted: a report or the reply to it may be lost.
base::Status settle(FabricEnd& end) {
  for (unsigned tries = 0; !end.is_replied(); ++tries) {
    if (tries == kReportTries) return nothing_counted();
    end.post(Word::kReport);
    end.transmit();
    const auto came = end.iterate_for([&] { return end.is_replied(); }, kLostAfter);
    if (!came) return came.error();
  }
  return {};
}

// Four reports per window: sending continues while one of them comes back.
base::Status stream_unacknowledged(FabricEnd& end, double seconds, Row& row) {
  if (auto known = settle(end); !known) return known;
  const std::size_t posted = end.posted();
  const std::size_t arrived = end.arrived();
  const std::size_t window = end.in_flight_max();
  const std::size_t interval = (window + 3) / 4;
  const base::Time begin = end.now();
  const base::Time until = begin + seconds_of(seconds);
  for (base::Time now = begin; now < until; now = end.now()) {
    while (end.open() < window) {
      end.post(Word::kCount);
      if (end.posted() % interval == 0) end.post(Word::kReport);
    }
    end.transmit();
    const auto has_room = end.iterate_for([&] { return end.open() < window; }, kLostAfter);
    if (!has_room) return has_room.error();
    if (end.uncounted() > kUncountedMax) return nothing_counted();
    if (!*has_room) end.write_off();
  }
  if (auto known = settle(end); !known) return known;
  row.seconds = seconds_in(end.now() - begin);
  const std::size_t sent = end.posted() - posted;
  row.messages = std::min(end.arrived() - arrived, sent);  // the network may have doubled some
  row.lost = row.lost.value_or(0) + sent - row.messages;
  return {};
}

base::Status stream(FabricEnd& end, const Run& run, double seconds, Row& row) {
  return is_reliable(run.service) ? stream_acknowledged(end, seconds, row)
                                  : stream_unacknowledged(end, seconds, row);
}

// One more FetchOp reads how many were executed before it [S000-05].
base::Status check_fetched(FabricEnd& end) {
  const std::size_t posted = end.posted();
  end.post(Word::kReply);
  end.transmit();
  if (auto came = end.iterate_until([&] { return end.is_replied(); }); !came) return came;
  if (end.fetched() == posted) return {};
  return base::Error("the other end has executed " + std::to_string(end.fetched()) +
                     " FetchOps of " + std::to_string(posted) + " that were requested");
}

}  // namespace

base::Result<Row> measure(FabricEnd& end, const Run& run) {
  Row row;
  row.carrier = run.is_loopback ? "loopback" : run.is_shm ? "shm" : "udp";
  row.op = name(run.op);
  row.spins = run.spins;
  row.bytes = run.bytes;
  if (auto done = measure_latency(end, run, row); !done) return done.error();
  Row warm_up;
  if (auto done = stream(end, run, run.seconds / 10, warm_up); !done) return done.error();
  if (auto done = stream(end, run, run.seconds, row); !done) return done.error();
  if (run.op == Op::kRead && !end.are_reads_right()) {
    return base::Error("a read has placed other bytes here than the other end has");
  }
  if (run.op == Op::kFetchOp) {
    if (auto done = check_fetched(end); !done) return done.error();
  }
  return row;
}

}  // namespace splitnic::bench
