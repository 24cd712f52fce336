// What a registration costs with the cache and without, and what 100,000 I/Os on one buffer cause:
// how many registrations, and whether the kernel was entered at all. Asserts nothing.
//   registration_bench [ROUNDS]     rounds of each measurement, default 20,000
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "host_module/registration_cache.h"
#include "tests/support/adapter_pair.h"

namespace splitnic {
namespace {

using fabric::kLocalRead;
using fabric::PdId;
using host::RegCounter;

constexpr std::size_t kIos = 100'000;
constexpr std::size_t kBytesMax = std::size_t{1} << 20;

template <typename Round>
double nanoseconds(std::size_t rounds, const Round& round) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < rounds; ++i) round();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(rounds);
}

// One registration and its end: by the table alone, with the lock, and by the cache.
void compare(std::size_t bytes, std::size_t rounds) {
  base::OsRandom random;
  fabric::Mrwt table(8192, random);
  host::OsMemoryLock lock;
  std::vector<std::byte> buffer(bytes);
  const PdId pd(1);
  const auto by_table = [&] {
    CHECK(table.deregister(*table.register_region(pd, buffer, kLocalRead)));
  };
  const double plain = nanoseconds(rounds, by_table);
  const auto with = [&](std::size_t keeps) {
    host::RegistrationCache cache(table, lock, host::memory_exists, random, {.entries = keeps});
    const auto by_cache = [&] {
      const auto handle = cache.register_region(pd, buffer, kLocalRead);
      CHECK(handle && cache.deregister(*handle));
    };
    return nanoseconds(rounds, by_cache);
  };
  const double locked = with(0);
  const double cached = with(1);
  std::printf(
      "%8zu bytes: %7.0f ns table alone, %7.0f ns with lock, %5.0f ns cached (%.0f times less)\n",
      bytes, plain, locked, cached, locked / cached);
}

// RDMA writes of 64 bytes from one buffer over the in-process underlay.
struct Ios {
  // keeps: how many entries the cache keeps; 0: it is none.
  explicit Ios(std::size_t keeps)
      : from(pair.b()),
        cache(from.adapter->memory(), lock, host::memory_exists, from.random, {.entries = keeps}) {
    qp = pair.connect(fabric::QpInit{});
    to = &pair.a().memory(64);
  }
  void run(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto handle =
          *cache.register_region(from.pd, buffer, kLocalRead, cache.own_start(buffer));
      const fabric::Sge piece{cache.own_start(buffer), 64, handle};
      fabric::SendWr wr;
      wr.op = fabric::WrOp::kRdmaWrite;
      wr.gather = {&piece, 1};
      wr.remote_address = to->start;
      wr.remote_handle = to->handle;
      CHECK(from.adapter->post_send(qp.b, wr));
      from.sent.clear();
      while (from.sent.empty()) pair.turn();
      CHECK(cache.deregister(handle));
    }
  }
  fabric::testing::AdapterPair pair;
  fabric::testing::End& from;
  host::OsMemoryLock lock;
  host::RegistrationCache cache;
  fabric::testing::QpPair qp;
  fabric::testing::Memory* to = nullptr;
  std::vector<std::byte> buffer = std::vector<std::byte>(4096);
};

// In a child that the kernel kills at the first system call but read, write and exit.
bool enters_kernel(Ios& ios) {
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    ios.run(kIos);
    ::syscall(SYS_exit, 0);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  return !WIFEXITED(status);
}

}  // namespace
}  // namespace splitnic

int main(int argc, char** argv) {
  using namespace splitnic;
  const std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20'000;
  for (std::size_t bytes = 4096; bytes <= kBytesMax; bytes *= 16) compare(bytes, rounds);

  Ios ios(1);
  const double each = nanoseconds(1, [&] { ios.run(kIos); }) / static_cast<double>(kIos);
  const auto& counters = ios.cache.counters();
  std::printf("%zu I/Os of %.0f ns: %lu registered, %lu deregistered, %lu kernel entries\n", kIos,
              each, counters[RegCounter::kRegistered], counters[RegCounter::kDeregistered],
              counters[RegCounter::kKernelEntry]);
  const auto told = [](bool entered) {
    return entered ? "killed for a system call" : "no system call";
  };
  Ios without(0);
  without.run(kIos);  // what it allocates is there
  std::printf("%zu more under seccomp: %s; without the cache: %s\n", kIos, told(enters_kernel(ios)),
              told(enters_kernel(without)));
}
