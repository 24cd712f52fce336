#include "control/daemon/keyed_carriers.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::control {
namespace {

namespace session = fabric::session;

constexpr base::Duration kFaultOnceIn = std::chrono::minutes(1);

std::string remedy_of(session::HandshakeFault fault) {
  switch (fault) {
    case session::HandshakeFault::kStamp:
      return "gets no reply, because it has an earlier time than before: was its clock set back? "
             "Correct that clock, or restart this program";
    case session::HandshakeFault::kAddress:
      return "gets no reply, because it may not be at that address: see --allow, and `from` in the "
             "hosts file";
    case session::HandshakeFault::kResponse:
      return "replies, but the reply cannot be read: give both ends the same --psk-file, or none";
  }
  return "";
}

}  // namespace

base::Result<KeyedCarrier> KeyedCarriers::add(fabric::Underlay& below,
                                              std::span<const session::PublicKey> peers,
                                              const std::optional<fabric::PeerAddress>& endpoint) {
  const auto own = session::read_key_file(options_.key_file);
  if (!own) return own.error().within("--key-file");
  if (!options_.psk_file.empty()) {
    const auto read = session::read_key_file(options_.psk_file);
    if (!read) return read.error().within("--psk-file");
    psk_ = *read;
  }
  if (!options_.key_log.empty() && !key_log_) {
    auto opened = KeyLogFile::open(options_.key_log);
    if (!opened) return opened.error().within("--key-log");
    key_log_.emplace(*std::move(opened));
  }
  session::SessionConfig config;
  config.private_key = *own;
  config.instance = instance_;
  config.provider = options_.aead;
  config.stamp = [this] { return stamps_.next(); };
  config.may_be_at = may_be_at_;
  if (!advice_.empty() && !endpoint) {
    config.on_unknown_key = [this, &below](const session::PublicKey& key,
                                           const fabric::PeerAddress& from) {
      report_unknown(key, below.name_of(from));
    };
  }
  config.on_fault = [this, &below](session::HandshakeFault fault, const session::PublicKey& key,
                                   const fabric::PeerAddress& from) {
    report_fault(fault, key, below.name_of(from));
  };
  if (on_second_) {
    config.on_second_process = [this, &below](const session::Peer& peer,
                                              const fabric::PeerAddress& from) {
      const std::string at = peer.endpoint() ? below.name_of(*peer.endpoint()) : "";
      on_second_(&peer, peer.keys().peer, at, below.name_of(from));
    };
  }
  if (key_log_) {
    config.log_key = [this](const session::KeyLogEntry& entry) { key_log_->add(entry); };
  }
  auto made = std::make_unique<session::KeyedUnderlay>(below, config, clock_, random_);
  KeyedCarrier carrier{made.get(),
                       {},
                       session::eui64_of(made->public_key()),
                       session::base64_of(made->public_key().bytes)};
  for (const session::PublicKey& peer : peers) {
    const auto allowed = made->allow({peer, psk_, endpoint});
    if (!allowed) return allowed.error();
    carrier.peers.push_back(*allowed);
  }
  if (!endpoint) listening_.push_back(made.get());
  keyed_.push_back(std::move(made));
  return carrier;
}

// It gets no reply, so only the log here has the reason.
void KeyedCarriers::report_unknown(const session::PublicKey& key, const std::string& from) {
  const auto report = unknown_.note(key, clock_.now());
  if (report == UnknownKeys::Report::kNothing) return;
  if (report == UnknownKeys::Report::kThereAreMore) {
    return base::log_warn("more than " + std::to_string(UnknownKeys::kKeysMax) +
                          " keys within a minute are not known here; the others are left out of "
                          "the log (session.rx.drop.unknown_key counts all)");
  }
  base::log_warn({base::EventKind::kRefused, from},
                 "the key " + session::base64_of(key.bytes) + " of the node at " + from +
                     " is not known here, so it gets no reply: " + advice_);
}

// The other end hears nothing of it, or cannot know it.
void KeyedCarriers::report_fault(session::HandshakeFault fault, const session::PublicKey& key,
                                 const std::string& from) {
  const base::Time now = clock_.now();
  std::erase_if(faults_, [now](const auto& one) { return now >= one.second + kFaultOnceIn; });
  if (!faults_.emplace(std::pair(fault, key), now).second) return;
  base::log_warn({base::EventKind::kRefused, from}, "the node at " + from + " with the key " +
                                                        session::base64_of(key.bytes) + " " +
                                                        remedy_of(fault));
}

base::Status KeyedCarriers::allow(const session::PublicKey& key) {
  for (session::KeyedUnderlay* keyed : listening_) {
    if (auto allowed = keyed->allow({key, psk_, std::nullopt}); !allowed) return allowed.error();
  }
  return {};
}

void KeyedCarriers::disallow(const session::PublicKey& key) {
  for (session::KeyedUnderlay* keyed : listening_) keyed->disallow(key);
}

void KeyedCarriers::end_session(const session::PublicKey& key) {
  for (session::KeyedUnderlay* keyed : listening_) keyed->end_session(key);
}

std::optional<session::KeyedUnderlay::PeerView> KeyedCarriers::view_of(
    const session::PublicKey& key) const {
  std::optional<session::KeyedUnderlay::PeerView> newest;
  for (const session::KeyedUnderlay* keyed : listening_) {
    const auto view = keyed->view_of(key);
    if (view && (!newest || newest->agreed_at < view->agreed_at)) newest = view;
  }
  return newest;
}

std::vector<fabric::PeerAddress> KeyedCarriers::endpoints_of(const session::PublicKey& key) const {
  std::vector<fabric::PeerAddress> endpoints;
  for (session::KeyedUnderlay* keyed : listening_) {
    const auto view = keyed->view_of(key);
    if (!view || !view->endpoint || !keyed->has_session(session::address_of(key))) continue;
    endpoints.push_back(*view->endpoint);
  }
  return endpoints;
}

bool KeyedCarriers::are_agreed(const fabric::PeerAddress& peer) const {
  return std::ranges::any_of(keyed_, [&](const auto& keyed) { return keyed->has_session(peer); });
}

void KeyedCarriers::visit_counters(const base::CounterVisitor& visitor) const {
  for (const auto& keyed : keyed_) keyed->counters().visit(visitor);
}

}  // namespace splitnic::control
