// Cost of memory protection: a registration with the cache and without, a bind, the checks of a
// 64 KiB RDMA write and the whole write, a FetchOp; and what 100,000 I/Os on one buffer cause:
// how many registrations, and whether the kernel was entered at all. Asserts nothing.
//   memory_bench [ROUNDS]     rounds of each measurement, default 20,000
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "fabric_emul/regcache/registration_cache.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/cpu_time.h"
#include "tests/support/reader.h"

namespace splitnic {
namespace {

using fabric::kLocalRead;
using fabric::PdId;
using fabric::RegCounter;

constexpr std::size_t kIos = 100'000;
constexpr std::size_t kBytesMax = std::size_t{1} << 20;

using support::cpu_nanoseconds;

template <typename Round>
double nanoseconds(std::size_t rounds, const Round& round) {
  const double begin = cpu_nanoseconds();
  for (std::size_t i = 0; i < rounds; ++i) round();
  return (cpu_nanoseconds() - begin) / static_cast<double>(rounds);
}
// The median of five such measurements.
template <typename Round>
double median_nanoseconds(std::size_t rounds, const Round& round) {
  std::array<double, 5> took{};
  for (double& one : took) one = nanoseconds(rounds, round);
  std::ranges::sort(took);
  return took[2];
}

// One registration and its end: by the table alone, with the lock, and by the cache.
void compare(std::size_t bytes, std::size_t rounds) {
  base::OsRandom random;
  fabric::Mrwt table(8192, random);
  fabric::OsMemoryLock lock;
  std::vector<std::byte> buffer(bytes);
  const PdId pd(1);
  const auto by_table = [&] {
    CHECK(table.regions().deregister(*table.regions().register_region(pd, buffer, kLocalRead)));
  };
  const double plain = nanoseconds(rounds, by_table);
  const auto with = [&](std::size_t keeps) {
    fabric::RegistrationCache cache(table, lock, fabric::memory_exists, random, {.entries = keeps});
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

// A window on a region and its end; by the call, and by work requests of a queue pair.
void bind_windows(std::size_t rounds) {
  fabric::testing::AdapterPair pair;
  fabric::testing::End& end = pair.b();
  fabric::Mrwt& table = end.adapter->memory();
  const fabric::testing::Memory& region = end.memory(65536);
  const double by_call = median_nanoseconds(rounds, [&] {
    const auto window = table.windows().bind_window(end.pd, region.handle, region.start, 4096,
                                                    fabric::kRemoteRead, {});
    CHECK(window && table.windows().unbind(*window));
  });
  const fabric::Qpn qpn = pair.connect(fabric::QpInit{}).b;
  fabric::SendWr bind, unbind;
  bind.op = fabric::WrOp::kBind;
  unbind.op = fabric::WrOp::kUnbind;
  bind.local = {.region = region.handle,
                .address = region.start,
                .length = 4096,
                .rights = fabric::kRemoteRead};
  bind.local.window = unbind.local.window = table.windows().reserve_window(end.pd).value();
  const double by_queue = median_nanoseconds(rounds, [&] {
    CHECK(end.adapter->post_send(qpn, bind) && end.adapter->post_send(qpn, unbind));
    end.sent.clear();
    while (end.sent.size() < 2) end.poll();
  });
  std::printf("bind and unbind: %.0f ns by call, %.0f ns through a send queue\n", by_call,
              by_queue);
}

// Memory that counts how often it is checked.
struct CountedSpace final : fabric::Translator {
  explicit CountedSpace(base::MutableBytes memory_in) : memory(memory_in) {}
  fabric::AccessResult translate(fabric::VirtualAddress address, std::uint64_t length,
                                 fabric::AccessKind) noexcept override {
    ++checks;
    return {memory.data() + address.value, fabric::AccessCheck::kA,
            static_cast<std::uint32_t>(length)};
  }
  bool may_bind(fabric::VirtualAddress, std::uint64_t, std::uint8_t) const noexcept override {
    return true;
  }
  base::MutableBytes memory;
  std::uint64_t checks = 0;
};

constexpr std::uint32_t kWriteBytes = 65536;

void write_once(fabric::testing::AdapterPair& pair, fabric::Qpn qpn, const fabric::Sge& from,
                fabric::VirtualAddress to, fabric::MemoryHandle handle) {
  pair.b().sent.clear();
  CHECK(pair.b().post_write(qpn, {from}, to, handle));
  while (pair.b().sent.empty()) pair.step();
  CHECK(pair.b().sent[0].status == fabric::WcStatus::kSuccess);
}

// Returns how often a 64 KiB write is checked on its way, at both ends.
std::uint64_t checks_of_a_write(fabric::testing::AdapterPair& pair, fabric::Qpn qpn) {
  std::vector<std::byte> from_bytes(kWriteBytes), to_bytes(kWriteBytes);
  CountedSpace from(from_bytes), to(to_bytes);
  const fabric::VirtualAddress zero(0);
  fabric::Mrwt& at_b = pair.b().adapter->memory();
  fabric::Mrwt& at_a = pair.a().adapter->memory();
  const auto source = at_b.regions()
                          .register_space(pair.b().pd, zero, kWriteBytes, fabric::kLocalRead, from)
                          .value();
  const auto target = at_a.regions()
                          .register_space(pair.a().pd, zero, kWriteBytes, fabric::kRemoteWrite, to)
                          .value();
  write_once(pair, qpn, {zero, kWriteBytes, source}, zero, target);
  CHECK(at_b.regions().deregister(source) && at_a.regions().deregister(target));
  return from.checks + to.checks;
}

// The checks of a 64 KiB write, and all of it. The window is the dearer case.
void check_share(std::uint16_t mcp, std::size_t rounds) {
  fabric::testing::PairOptions options;
  options.hub.datagram_bytes_max = 65507;
  options.mcp = mcp;
  fabric::testing::AdapterPair pair(options);
  const fabric::testing::QpPair qp = pair.connect(fabric::QpInit{});
  const fabric::testing::Memory& from = pair.b().memory(kWriteBytes, 1);
  const fabric::testing::Memory& to = pair.a().memory(kWriteBytes);
  fabric::Mrwt& table = pair.a().adapter->memory();
  const auto window = table.windows().bind_window(pair.a().pd, to.handle, to.start, kWriteBytes,
                                                  fabric::kRemoteWrite, qp.a);
  CHECK(window);
  const double write =
      median_nanoseconds(rounds, [&] { write_once(pair, qp.b, from.sge(), to.start, *window); });
  std::uint64_t offset = 0;
  bool all_ok = true;
  const double check = median_nanoseconds(rounds * 100, [&] {
    offset = (offset + 256) % kWriteBytes;
    all_ok &= table
                  .access(*window, fabric::VirtualAddress(to.start.value + offset), 256,
                          fabric::AccessKind::kRemoteWrite, pair.a().pd, qp.a)
                  .ok();
  });
  CHECK(all_ok);
  const std::uint64_t checks = checks_of_a_write(pair, qp.b);
  std::printf("64 KiB write in cells of %5u: %6.0f ns, %3lu checks of %.1f ns = %.2f %%\n",
              pair.a().link().mcp(), write, checks, check,
              100 * static_cast<double>(checks) * check / write);
}

// FetchOps of one queue pair, 16 in flight at a time.
void fetch_ops(std::size_t rounds) {
  fabric::testing::AdapterPair pair;
  const fabric::testing::QpPair qp = pair.connect(fabric::testing::reading(16));
  fabric::testing::Memory& word = pair.a().memory(8);
  const fabric::testing::Memory& old = pair.b().memory(8);
  std::size_t posted = 0, done = 0;
  const double each = nanoseconds(1,
                                  [&] {
                                    while (done < rounds) {
                                      for (; posted < rounds && posted - done < 16; ++posted) {
                                        CHECK(fabric::testing::post_fetch(
                                            pair.b(), qp.b, old, {fabric::FetchOp::kFetchAdd, 1, 0},
                                            word.start, word.handle));
                                      }
                                      pair.step();
                                      done += pair.b().sent.size();
                                      pair.b().sent.clear();
                                    }
                                  }) /
                      static_cast<double>(rounds);
  CHECK(fabric::testing::word_of(word) == rounds);
  std::printf("FetchOp: %.0f ns, %.2f million a second (both ends in one thread)\n", each,
              1000 / each);
}

// RDMA writes of 64 bytes from one buffer over the in-process underlay.
struct Ios {
  // keeps: how many entries the cache keeps; 0: it is none.
  explicit Ios(std::size_t keeps)
      : from(pair.b()),
        cache(from.adapter->memory(), lock, fabric::memory_exists, from.random,
              {.entries = keeps}) {
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
      while (from.sent.empty()) pair.step();
      CHECK(cache.deregister(handle));
    }
  }
  fabric::testing::AdapterPair pair;
  fabric::testing::End& from;
  fabric::OsMemoryLock lock;
  fabric::RegistrationCache cache;
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
  bind_windows(rounds);
  for (const int mcp : {256, 1400, 8900, 65400})
    check_share(static_cast<std::uint16_t>(mcp), rounds / 10);
  fetch_ops(rounds);

  Ios ios(1);
  const double each = nanoseconds(1, [&] { ios.run(kIos); }) / static_cast<double>(kIos);
  const auto& counters = ios.cache.counters();
  std::printf("%zu I/Os of %.0f ns: %lu registered, %lu deregistered, %lu kernel entries\n", kIos,
              each, counters[RegCounter::kRegistered], counters[RegCounter::kDeregistered],
              counters[RegCounter::kKernelEntry]);
  const auto text_of = [](bool entered) {
    return entered ? "killed for a system call" : "no system call";
  };
  Ios without(0);
  without.run(kIos);  // what it allocates is there
  std::printf("%zu more under seccomp: %s; without the cache: %s\n", kIos,
              text_of(enters_kernel(ios)), text_of(enters_kernel(without)));
}
