#include "tools/conform_ends.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/manager_suite.h"
#include "conformance/suite.h"
#include "conformance/switch_suite.h"
#include "conformance/unit_suite.h"
#include "control/daemon/carriers.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::tools {
namespace {

namespace session = fabric::session;

constexpr std::size_t kPlainLines = 2;  // hosts of the suite without keys

conformance::SuiteConfig config_of(const ConformOptions& options, base::Random& random) {
  return {options.timeout, options.seed, options.target.is_shm(), random.next()};
}

void wait_for(int fd, base::Duration span) {
  const auto left = std::max<base::Duration>(span, base::Duration{0});
  const timespec timeout{.tv_sec = left.count() / 1'000'000'000,
                         .tv_nsec = left.count() % 1'000'000'000};
  pollfd input{.fd = fd, .events = POLLIN, .revents = 0};
  static_cast<void>(::ppoll(&input, 1, &timeout, nullptr));
}

base::Result<conformance::HostKeys> keys_of(const ConformOptions& options,
                                            const std::string& path) {
  conformance::HostKeys keys;
  auto own = session::read_key_file(path);
  if (!own) return own.error().within("--key-file");
  keys.own = *std::move(own);
  const auto peer = session::parse_public_key(options.peer);
  if (!peer) return peer.error().within("--peer");
  keys.target = *peer;
  if (!options.psk_file.empty()) {
    auto psk = session::read_key_file(options.psk_file);
    if (!psk) return psk.error().within("--psk-file");
    keys.psk = *std::move(psk);
  }
  if (!session::x25519(keys.own, keys.target)) return base::Error("--peer: not a usable key");
  return keys;
}

// Lines that connect: a carrier for each, with its keys.
class Lines {
 public:
  // `number`: of the key file, if there are any.
  base::Status add(const ConformOptions& options, const control::Endpoint& target,
                   std::size_t number) {
    auto carrier = control::connect_carrier(target, {.reports_limits = false});
    if (!carrier) return carrier.error().within(target.text());
    carriers_.push_back(*std::move(carrier));
    fabric::Underlay& underlay = *carriers_.back().underlay;
    ways_.push_back(std::make_unique<conformance::Carrier>(
        underlay, carriers_.back().peer, clock_,
        [this, fd = underlay.fd()](base::Time until) { wait_for(fd, until - clock_.now()); }));
    conformance::Session* keys = nullptr;
    if (!options.key_files.empty()) {
      auto made = session_of(options, options.key_files.at(number));
      if (!made) return made.error();
      sessions_.push_back(*std::move(made));
      keys = sessions_.back().get();
    }
    lines_.push_back(std::make_unique<conformance::Line>(*ways_.back(), keys));
    return {};
  }
  std::vector<conformance::Line*> all() const {
    std::vector<conformance::Line*> lines;
    lines.reserve(lines_.size());
    for (const auto& line : lines_) lines.push_back(line.get());
    return lines;
  }
  base::Random& random() { return random_; }

 private:
  base::Result<std::unique_ptr<conformance::Session>> session_of(const ConformOptions& options,
                                                                 const std::string& path) {
    auto keys = keys_of(options, path);
    if (!keys) return keys.error();
    return std::make_unique<conformance::Session>(*keys, random_, [this] { return next_stamp(); });
  }
  std::uint64_t next_stamp() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const auto now = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
    return stamp_ = std::max(now, stamp_ + 1);
  }

  base::SystemClock clock_;
  base::OsRandom random_;
  std::uint64_t stamp_ = 0;
  std::vector<control::Carrier> carriers_;
  std::vector<std::unique_ptr<conformance::Carrier>> ways_;
  std::vector<std::unique_ptr<conformance::Session>> sessions_;
  std::vector<std::unique_ptr<conformance::Line>> lines_;
};

// The hosts of the suite, all at one I/O unit.
class Hosts final : public ConformEnds {
 public:
  base::Status open(const ConformOptions& options) {
    const std::size_t count = options.key_files.empty() ? kPlainLines : options.key_files.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (auto added = lines_.add(options, options.target, i); !added) return added;
    }
    suite_.emplace(lines_.all(), config_of(options, lines_.random()));
    return {};
  }
  conformance::Runner& runner() override { return *suite_; }

 private:
  Lines lines_;
  std::optional<conformance::Suite> suite_;
};

// The neighbours of a switch: one line at each port.
template <class Suite>
class Around final : public ConformEnds {
 public:
  base::Status open(const ConformOptions& options) {
    for (std::size_t i = 0; i < options.ports.size(); ++i) {
      if (auto added = lines_.add(options, options.ports[i], i); !added) return added;
    }
    suite_.emplace(lines_.all(), config_of(options, lines_.random()));
    return {};
  }
  conformance::Runner& runner() override { return *suite_; }

 private:
  Lines lines_;
  std::optional<Suite> suite_;
};

// The I/O unit of the suite: one carrier, which takes whoever comes.
class UnitEnd final : public ConformEnds {
 public:
  base::Status open(const ConformOptions& options) {
    if (!options.key_files.empty()) {
      auto keys = keys_of(options, options.key_files.front());
      if (!keys) return keys.error();
      responder_.emplace(keys->own, keys->target, keys->psk, random_);
    }
    auto carrier = control::listen_carrier(options.target, {.reports_limits = false});
    if (!carrier) return carrier.error().within(options.target.text());
    carrier_ = *std::move(carrier);
    way_.emplace(*carrier_.underlay, std::nullopt, clock_, [this](base::Time until) {
      wait_for(carrier_.underlay->fd(), until - clock_.now());
    });
    line_ = responder_ ? std::make_unique<conformance::Line>(*way_, &*responder_)
                       : std::make_unique<conformance::Line>(*way_);
    suite_.emplace(*line_, config_of(options, random_));
    return {};
  }
  conformance::Runner& runner() override { return *suite_; }
  void end() override { suite_->end(); }

 private:
  base::SystemClock clock_;
  base::OsRandom random_;
  std::optional<conformance::Responder> responder_;
  control::Carrier carrier_;
  std::optional<conformance::Carrier> way_;
  std::unique_ptr<conformance::Line> line_;
  std::optional<conformance::UnitSuite> suite_;
};

template <class Ends>
base::Result<std::unique_ptr<ConformEnds>> opened(const ConformOptions& options) {
  auto ends = std::make_unique<Ends>();
  if (const auto status = ends->open(options); !status) return status.error();
  return std::unique_ptr<ConformEnds>(std::move(ends));
}

}  // namespace

base::Result<std::unique_ptr<ConformEnds>> open_ends(const ConformOptions& options) {
  switch (options.role) {
    case conformance::Role::kHost:
      return opened<Hosts>(options);
    case conformance::Role::kUnit:
      return opened<UnitEnd>(options);
    case conformance::Role::kNodes:
      return opened<Around<conformance::SwitchSuite>>(options);
    case conformance::Role::kSubnet:
      break;
  }
  return opened<Around<conformance::ManagerSuite>>(options);
}

base::Result<std::string> topology_of(const ConformOptions& options) {
  std::vector<session::PublicKey> keys;
  for (const std::string& path : options.key_files) {
    const auto own = session::read_key_file(path);
    if (!own) return own.error().within("--key-file");
    keys.push_back(session::public_key_of(*own));
  }
  if (!keys.empty()) {
    const auto peer = session::parse_public_key(options.peer);
    if (!peer) return peer.error().within("--peer");
    keys.push_back(*peer);
  }
  return {boost::system::in_place_value,
          options.role == conformance::Role::kSubnet
              ? conformance::manager_topology(keys)
              : conformance::switch_topology(options.ports.size(), keys)};
}

}  // namespace splitnic::tools
