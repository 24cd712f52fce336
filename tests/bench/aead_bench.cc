// Seals and opens the datagrams of a super-frame, 46 records of 1440 bytes, with each provider of
// AES-256-GCM, in place and out of place, and prints nanoseconds per record and ratios. One thread;
// buffers of a few super-frames in round robin, as on a link. The providers change in each round,
// so that other work on the machine meets all of them; the fastest of the rounds counts.
//   aead_bench [--rounds N] [--markdown]
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/messages.h"

namespace {

using splitnic::base::Bytes;
using splitnic::base::MutableBytes;
namespace session = splitnic::fabric::session;

constexpr std::size_t kRecords = 46;
constexpr std::size_t kFrames = 8;  // buffers in round robin
constexpr int kFramesPerRound = 400;

struct Work {
  session::AeadProvider provider;
  std::size_t bytes;
  bool in_place;
  friend auto operator<=>(const Work&, const Work&) = default;
};
struct Times {
  double seal = std::numeric_limits<double>::max();
  double open = std::numeric_limits<double>::max();
};

double nanoseconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
}

Times measure(const Work& work) {
  const auto aead = session::make_aead(work.provider);
  session::Secret key;
  key.mutable_bytes()[0] = std::byte{7};
  aead->set_key(key);
  const std::size_t stride = work.bytes + session::kDataOverheadBytes;
  std::vector<std::byte> sealed(kFrames * kRecords * stride);
  std::vector<std::byte> plain(kFrames * kRecords * stride, std::byte{0x5A});
  std::uint64_t counter = 0;
  const auto each = [&](auto&& call) {
    const auto began = std::chrono::steady_clock::now();
    for (int frame = 0; frame < kFramesPerRound; ++frame) {
      const std::size_t base = static_cast<std::size_t>(frame) % kFrames * kRecords;
      for (std::size_t i = 0; i < kRecords; ++i) call((base + i) * stride);
    }
    return nanoseconds_since(began) / (kFramesPerRound * static_cast<double>(kRecords));
  };
  const auto record_at = [&](std::size_t at) { return MutableBytes(sealed).subspan(at, stride); };
  const auto plain_at = [&](std::size_t at) {
    return MutableBytes(work.in_place ? sealed : plain)
        .subspan(at + session::kDataHeaderBytes, work.bytes);
  };
  Times times;
  times.seal = each([&](std::size_t at) {
    const MutableBytes record = record_at(at);
    aead->seal(session::begin_data(record, 0, 1, counter), plain_at(at), session::nonce_of(counter),
               session::Data::header(record));
    ++counter;
  });
  // The records of the last round over the buffers are opened as often as they lie there; in place,
  // each can be opened once only, so the others fail their tag, after the same work.
  times.open = each([&](std::size_t at) {
    const Bytes record = record_at(at);
    const bool is_good = aead->open(plain_at(at), session::Data::sealed(record),
                                    session::nonce_of(session::Data::counter(record)),
                                    session::Data::header(record));
    if (!work.in_place) CHECK(is_good);
  });
  return times;
}

void print(const std::map<Work, Times>& all, bool is_markdown) {
  std::puts(is_markdown ? "| bytes | provider | | seal ns | open ns | super-frame us | ratio |\n"
                          "|---|---|---|---|---|---|---|"
                        : "bytes provider place seal_ns open_ns super_frame_us ratio");
  for (const auto& [work, times] : all) {
    const Work reference{session::AeadProvider::kOpenSsl, work.bytes, work.in_place};
    const double ratio = all.at(reference).seal / times.seal;
    const std::string name(session::name_of(work.provider));
    std::printf(is_markdown ? "| %zu | %s | %s | %.0f | %.0f | %.1f | %.1f |\n"
                            : "%zu %s %s %.0f %.0f %.1f %.1f\n",
                work.bytes, name.c_str(), work.in_place ? "in place" : "out of place", times.seal,
                times.open, times.seal * kRecords / 1000, ratio);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 20;
  bool is_markdown = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--markdown") is_markdown = true;
    if (argument == "--rounds" && i + 1 < argc) rounds = std::max(1, std::atoi(argv[++i]));
  }
  std::map<Work, Times> all;
  for (int round = 0; round < rounds; ++round) {
    for (const auto provider : {session::AeadProvider::kOpenSsl, session::AeadProvider::kIpsecMb}) {
      if (session::make_aead(provider) == nullptr) continue;
      for (const std::size_t bytes : {64U, 1440U, 8940U}) {
        for (const bool in_place : {false, true}) {
          const Work work{provider, bytes, in_place};
          const Times now = measure(work);
          Times& best = all[work];
          best.seal = std::min(best.seal, now.seal);
          best.open = std::min(best.open, now.open);
        }
      }
    }
  }
  print(all, is_markdown);
}
