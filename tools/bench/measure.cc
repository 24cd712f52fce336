#include "tools/bench/measure.h"

namespace splitnic::bench {
namespace {

base::Status measure_latency(FabricEnd& end, const Run& run, Row& row) {
  std::vector<float> took;
  took.reserve(kRoundTripsMax);
  base::Time begin = end.now();
  const base::Time until = begin + seconds_of(run.seconds);
  const auto replies = [&] { return run.op == Op::kRead ? end.sent() : end.received(); };
  while (begin < until && took.size() < kRoundTripsMax) {
    const std::size_t replied = replies();
    end.post(Word::kReply);
    end.transmit();
    if (auto came = end.iterate_until([&] { return replies() > replied; }); !came) return came;
    const base::Time now = end.now();
    took.push_back(static_cast<float>((now - begin).count()));
    begin = now;
  }
  take_round_trips(took, row);
  return end.iterate_until([&] { return end.open() == 0; });
}

// Keeps all slots in flight for `seconds`, then waits for the rest.
base::Status stream(FabricEnd& end, const Run& run, double seconds, Row& row) {
  const std::size_t slots = slots_for(run.bytes);
  const std::size_t before = end.sent();
  const base::Time begin = end.now();
  const base::Time until = begin + seconds_of(seconds);
  for (base::Time now = begin; now < until; now = end.now()) {
    while (end.open() < slots) end.post(Word::kCount);
    end.transmit();
    const std::size_t known = end.sent();
    if (auto sent = end.iterate_until([&] { return end.sent() > known; }); !sent) return sent;
  }
  if (auto rest = end.iterate_until([&] { return end.open() == 0; }); !rest) return rest;
  row.messages = end.sent() - before;
  row.seconds = seconds_in(end.now() - begin);
  return {};
}

}  // namespace

base::Result<Row> measure(FabricEnd& end, const Run& run) {
  Row row;
  row.carrier = run.is_shm ? "shm" : "udp";
  row.op = name(run.op);
  row.spins = run.spins;
  row.bytes = run.bytes;
  if (auto done = measure_latency(end, run, row); !done) return done.error();
  if (auto done = stream(end, run, run.seconds / 10, row); !done) return done.error();
  if (auto done = stream(end, run, run.seconds, row); !done) return done.error();
  return row;
}

}  // namespace splitnic::bench
