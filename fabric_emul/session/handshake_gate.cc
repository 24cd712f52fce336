#include "fabric_emul/session/handshake_gate.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "fabric_emul/underlay/udp_address.h"

namespace splitnic::fabric::session {
namespace {

PeerAddress source_of(const PeerAddress& from) {
  const UdpAddress native(from);
  PeerAddress source;
  if (native.family() == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, native.get(), sizeof v4);
    std::memcpy(source.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return source;
  }
  if (native.family() != AF_INET6) return from;
  const in6_addr& v6 = native.v6().sin6_addr;
  const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6);
  std::memcpy(source.bytes.data(), v6.s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 8);
  return source;
}

}  // namespace

bool SourceLimits::take(base::Time now, const PeerAddress& from) {
  const PeerAddress source = source_of(from);
  auto found = sources_.find(source);
  if (found == sources_.end()) {
    if (sources_.size() >= kSourcesMax) {
      std::erase_if(sources_, [now](const auto& entry) { return entry.second.is_full(now); });
      if (sources_.size() >= kSourcesMax) return false;
    }
    found = sources_.emplace(source, unused_).first;
  }
  return found->second.take(now);
}

HandshakeGate::HandshakeGate(const SessionConfig& config, const MacKeys& own, base::Random& random,
                             base::Counters<SessionCounter>& counters)
    : config_(config),
      own_(own),
      counters_(counters),
      agreements_(rate_limit(config.agreements_per_second, config.agreements_burst)),
      cookies_(rate_limit(config.cookies_per_second, config.cookies_per_second)),
      sources_(config.source_per_second, config.source_burst),
      jar_(random, own) {}

HandshakeGate::Verdict HandshakeGate::check(base::Time now, base::Bytes initiation,
                                            const PeerAddress& from, bool is_peer_there) {
  if (!has_mac1(initiation, own_)) return drop(SessionCounter::kRxDropMac);
  const std::uint32_t left = agreements_.left(now);
  if (left >= config_.cookies_below) return may_agree(now) ? Verdict::kPass : Verdict::kDrop;
  const bool has_cookie = jar_.has_mac2(now, initiation, from);
  if (!has_cookie) {
    const bool may = (is_peer_there && cookies_of_peers_.take(now, from)) || cookies_.take(now);
    return may ? Verdict::kCookie : drop(SessionCounter::kRxDropBudget);
  }
  if (is_peer_there && peers_.take(now, from)) return Verdict::kPass;
  // The address is proven, so it is held to its share, also of attempts that get no token: else who
  // sends fastest gets each token.
  if (!sources_.take(now, from)) return drop(SessionCounter::kRxDropBudget);
  return may_agree(now) ? Verdict::kPass : Verdict::kDrop;
}

bool HandshakeGate::may_agree(base::Time now) {
  const bool may = agreements_.take(now);
  if (!may) counters_.add(SessionCounter::kRxDropBudget);
  return may;
}

HandshakeGate::Verdict HandshakeGate::drop(SessionCounter cause) {
  counters_.add(cause);
  return Verdict::kDrop;
}

std::array<std::byte, kCookieBytes> HandshakeGate::cookie_for(base::Time now,
                                                              base::Bytes initiation,
                                                              const PeerAddress& from) {
  return jar_.reply(now, initiation, Initiation::sender(initiation), from);
}

}  // namespace splitnic::fabric::session
