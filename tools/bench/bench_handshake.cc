#include "tools/bench/bench_handshake.h"

#include <algorithm>
#include <utility>

#include "base/endian.h"

namespace splitnic::bench {
namespace {

constexpr std::uint32_t kQpnMax = 0xFFFFFF;

// Returns nothing if a number is no queue pair's, or is there twice.
std::optional<std::vector<fabric::Qpn>> parse_queue_pairs(base::Bytes in) {
  std::vector<fabric::Qpn> out;
  for (; !in.empty(); in = in.subspan(4)) {
    const fabric::Qpn qpn(base::load_be<std::uint32_t>(in.data()));
    const bool is_known = std::ranges::find(out, qpn) != out.end();
    if (qpn.value == 0 || qpn.value > kQpnMax || is_known) return std::nullopt;
    out.push_back(qpn);
  }
  return out;
}

}  // namespace

std::vector<std::byte> Handshake::emit() const {
  std::vector<std::byte> out(kFixedBytes + 4 * queue_pairs.size());
  base::store_be(out.data(), kMagic);
  out[4] = static_cast<std::byte>(op);
  out[5] = static_cast<std::byte>(goes_back_n ? 1 : 0);
  out[6] = static_cast<std::byte>(service);
  out[7] = static_cast<std::byte>(queue_pairs.size());
  base::store_be(out.data() + 8, bytes);
  base::store_be(out.data() + 12, handle);
  base::store_be(out.data() + 16, start);
  std::byte* at = out.data() + kFixedBytes;
  for (const fabric::Qpn qpn : queue_pairs) {
    base::store_be(at, qpn.value);
    at += 4;
  }
  return out;
}

std::optional<Handshake> Handshake::parse(base::Bytes in) {
  if (in.size() < kFixedBytes || base::load_be<std::uint32_t>(in.data()) != kMagic) return {};
  if (in[4] > static_cast<std::byte>(Op::kFetchOp) || in[5] > std::byte{1}) return {};
  Handshake out;
  out.op = static_cast<Op>(in[4]);
  out.goes_back_n = in[5] == std::byte{1};
  out.service = static_cast<fabric::Service>(in[6]);
  out.bytes = base::load_be<std::uint32_t>(in.data() + 8);
  out.handle = base::load_be<std::uint32_t>(in.data() + 12);
  out.start = base::load_be<std::uint64_t>(in.data() + 16);
  const auto listed = std::to_integer<std::size_t>(in[7]);
  const bool has_list = out.service == fabric::Service::kRd;
  if (word_of(out.service).empty() || in.size() != kFixedBytes + 4 * listed) return {};
  if (!has_list && listed != 0) return {};
  if (!check_run(out.service, out.op, has_list ? listed : 1)) return {};
  if (out.goes_back_n && out.service != fabric::Service::kRc) return {};
  if (out.bytes == 0 || out.bytes > kSizeMax) return {};
  if (!check_size(out.op, out.bytes)) return {};
  auto numbers = parse_queue_pairs(in.subspan(kFixedBytes));
  if (!numbers) return {};
  out.queue_pairs = *std::move(numbers);
  return out;
}

}  // namespace splitnic::bench
