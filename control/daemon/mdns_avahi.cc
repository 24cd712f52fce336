// mdns.h by Avahi's library for programs without its daemon. It keeps the rules of RFC 6762 about
// probes, conflicts, caches and rates.
#include <avahi-common/alternative.h>
#include <avahi-common/malloc.h>
#include <avahi-common/simple-watch.h>
#include <avahi-common/timeval.h>
#include <avahi-core/core.h>
#include <avahi-core/log.h>
#include <avahi-core/lookup.h>
#include <avahi-core/publish.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "control/daemon/mdns.h"

namespace splitnic::control {
namespace {

constexpr const char* kType = "_splitnic._udp";
constexpr const char* kKey = "key";
constexpr std::size_t kServicesMax = 64;  // that are followed at one time, of whatever key
constexpr unsigned kCacheMax = 512;       // records per interface
constexpr auto kFamilies = std::to_array<AvahiProtocol>({AVAHI_PROTO_INET6, AVAHI_PROTO_INET});

// The loop of the process: Avahi's, with the channel in it.
class Loop {
 public:
  explicit Loop(SideProcess::Channel channel)
      : channel_(channel), poll_(avahi_simple_poll_new(), &avahi_simple_poll_free) {
    avahi_set_log_function([](AvahiLogLevel, const char*) {});
  }
  const AvahiPoll* api() const { return avahi_simple_poll_get(poll_.get()); }
  // Until the program ends. `on_packet` takes what the program sends.
  void run(std::function<void(const std::string&)> on_packet) {
    on_packet_ = std::move(on_packet);
    const auto on_readable = [](AvahiWatch*, int, AvahiWatchEvent, void* data) {
      auto& self = *static_cast<Loop*>(data);
      if (const auto packet = self.channel_.receive()) return self.on_packet_(*packet);
      avahi_simple_poll_quit(self.poll_.get());
    };
    api()->watch_new(api(), channel_.fd(), AVAHI_WATCH_IN, on_readable, this);
    avahi_simple_poll_loop(poll_.get());
  }
  void reply(const std::string& packet) const { channel_.send(packet); }

 private:
  SideProcess::Channel channel_;
  std::unique_ptr<AvahiSimplePoll, void (*)(AvahiSimplePoll*)> poll_;
  std::function<void(const std::string&)> on_packet_;
};

using Server = std::unique_ptr<AvahiServer, void (*)(AvahiServer*)>;

class Config {
 public:
  Config() {
    avahi_server_config_init(&config_);
    config_.publish_addresses = config_.publish_hinfo = config_.publish_workstation =
        config_.publish_domain = 0;
    config_.enable_wide_area = 0;
    config_.n_cache_entries_max = kCacheMax;
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  ~Config() { avahi_server_config_free(&config_); }
  AvahiServerConfig* operator->() { return &config_; }
  Server open(const Loop& loop, AvahiServerCallback on_state, void* data) const {
    int error = 0;
    return {avahi_server_new(loop.api(), &config_, on_state, data, &error), &avahi_server_free};
  }

 private:
  AvahiServerConfig config_{};
};

struct OwnAddress {
  AvahiIfIndex interface;
  AvahiAddress address;
  friend bool operator==(const OwnAddress& a, const OwnAddress& b) {
    return a.interface == b.interface && avahi_address_cmp(&a.address, &b.address) == 0;
  }
};

std::optional<AvahiAddress> address_of(const sockaddr* from) {
  AvahiAddress address{};
  if (from != nullptr && from->sa_family == AF_INET) {
    address.proto = AVAHI_PROTO_INET;
    std::memcpy(&address.data.ipv4, &reinterpret_cast<const sockaddr_in*>(from)->sin_addr,
                sizeof address.data.ipv4);
    return address;
  }
  if (from == nullptr || from->sa_family != AF_INET6) return std::nullopt;
  address.proto = AVAHI_PROTO_INET6;
  std::memcpy(&address.data.ipv6, &reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr,
              sizeof address.data.ipv6);
  return address;
}

// Whether a socket that is bound to `bound` ("": any) receives what is sent to `own`.
bool listens_at(const std::string& bound, const AvahiAddress& own) {
  AvahiAddress at{};
  if (bound.empty() || bound == "::" ||
      avahi_address_parse(bound.c_str(), AVAHI_PROTO_UNSPEC, &at) == nullptr) {
    return true;
  }
  return bound == "0.0.0.0" ? own.proto == AVAHI_PROTO_INET : avahi_address_cmp(&at, &own) == 0;
}

// Of the interfaces that are up and can send multicasts, what a socket bound to `bound` receives.
std::vector<OwnAddress> own_addresses(const std::string& bound) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<OwnAddress> found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    constexpr unsigned kNeeded = IFF_UP | IFF_MULTICAST;
    const bool is_used = (at->ifa_flags & (kNeeded | IFF_LOOPBACK)) == kNeeded;
    const auto address = address_of(at->ifa_addr);
    if (!is_used || !address || !listens_at(bound, *address)) continue;
    found.push_back({static_cast<AvahiIfIndex>(::if_nametoindex(at->ifa_name)), *address});
  }
  return found;
}

// Publishes a unit, under another name while another node has that one, at a host name of its key
// and with the addresses of the machine at which the unit listens now. Another responder of the
// machine publishes its name, and which name each address has: two that claim that would be in
// conflict.
class Announcer {
 public:
  Announcer(const Loop& loop, Announcement unit)
      : unit_(std::move(unit)),
        host_("splitnic-" + unit_.key_hash + ".local"),
        server_(Config().open(loop, &Announcer::on_state, this)) {
    const AvahiPoll* const api = loop.api();
    timeval at{};
    avahi_elapse_time(&at, kLookEvery, 0);
    api->timeout_new(
        api, &at,
        [](AvahiTimeout* timeout, void* data) { static_cast<Announcer*>(data)->look(timeout); },
        this);
    api_ = api;
  }

 private:
  static constexpr unsigned kLookEvery = 1000;  // ms, for other addresses

  static void on_state(AvahiServer* server, AvahiServerState state, void* data) {
    auto& self = *static_cast<Announcer*>(data);
    self.is_running_ = state == AVAHI_SERVER_RUNNING;
    if (self.is_running_) return self.publish(server);
    if (self.group_ != nullptr) avahi_s_entry_group_reset(self.group_);
  }
  static void on_group(AvahiServer* server, AvahiSEntryGroup*, AvahiEntryGroupState state,
                       void* data) {
    auto& self = *static_cast<Announcer*>(data);
    if (state != AVAHI_ENTRY_GROUP_COLLISION) return;
    char* const other = avahi_alternative_service_name(self.unit_.name.c_str());
    self.unit_.name = other;
    avahi_free(other);
    self.publish(server);
  }
  void look(AvahiTimeout* timeout) {
    timeval at{};
    avahi_elapse_time(&at, kLookEvery, 0);
    api_->timeout_update(timeout, &at);
    if (is_running_ && own_addresses(unit_.address) != published_) publish(server_.get());
  }
  void publish(AvahiServer* server) {
    if (group_ == nullptr) group_ = avahi_s_entry_group_new(server, &Announcer::on_group, this);
    if (group_ == nullptr) return;
    avahi_s_entry_group_reset(group_);
    published_ = own_addresses(unit_.address);
    for (const OwnAddress& own : published_) {
      AvahiAddress address = own.address;
      avahi_server_add_address(server, group_, own.interface, AVAHI_PROTO_UNSPEC,
                               AVAHI_PUBLISH_NO_REVERSE, host_.c_str(), &address);
    }
    const std::string key = kKey + ("=" + unit_.key_hash);
    avahi_server_add_service(server, group_, AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC,
                             AvahiPublishFlags{}, unit_.name.c_str(), kType, nullptr, host_.c_str(),
                             unit_.port, key.c_str(), nullptr);
    avahi_s_entry_group_commit(group_);
  }

  Announcement unit_;
  const std::string host_;
  const AvahiPoll* api_ = nullptr;
  std::vector<OwnAddress> published_;
  bool is_running_ = false;
  AvahiSEntryGroup* group_ = nullptr;  // the server's
  Server server_;
};

std::string key_of(AvahiStringList* text) {
  AvahiStringList* const found = avahi_string_list_find(text, kKey);
  char* key = nullptr;
  char* value = nullptr;
  std::size_t bytes = 0;
  if (found == nullptr || avahi_string_list_get_pair(found, &key, &value, &bytes) != 0) return {};
  std::string hash = value == nullptr ? std::string() : std::string(value, bytes);
  avahi_free(key);
  avahi_free(value);
  return hash;
}

// "ADDRESS:PORT", with the interface behind a link-local IPv6 address.
std::string address_text(const AvahiAddress& address, AvahiIfIndex interface, std::uint16_t port) {
  std::array<char, AVAHI_ADDRESS_STR_MAX> text{};
  avahi_address_snprint(text.data(), text.size(), &address);
  const std::string behind = ":" + std::to_string(port);
  if (address.proto == AVAHI_PROTO_INET) return text.data() + behind;
  std::string zone;
  std::array<char, IF_NAMESIZE> name{};
  const auto& bytes = address.data.ipv6.address;
  const bool is_link_local = bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
  if (is_link_local && ::if_indextoname(static_cast<unsigned>(interface), name.data()) != nullptr) {
    zone = std::string("%") + name.data();
  }
  return std::string("[") + text.data() + zone + "]" + behind;
}

// Follows all services of the type, and of each an address of IPv4 and one of IPv6: Avahi resolves
// to one address, and of two families it may take one that leads nowhere, or was that of a unit
// that is gone, and hold to it.
class Finder {
 public:
  Finder(const Loop& loop, const std::string& not_on) : server_(open(loop, not_on)) {
    if (server_ == nullptr) return;
    avahi_s_service_browser_new(server_.get(), AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC, kType, nullptr,
                                AvahiLookupFlags{}, &Finder::on_service, this);
  }
  std::string units_of(const std::string& hash, std::size_t units_max) const {
    std::string lines;
    std::size_t units = 0;
    for (const Service& service : services_) {  // the newest first
      if (service.hash != hash || service.at.empty() || units == units_max) continue;
      if ((lines + "\n").find(service.at + "\n") != std::string::npos) continue;
      lines += service.at + "\n";
      ++units;
    }
    return lines.empty() ? "\n" : lines;
  }

 private:
  struct Service {
    AvahiIfIndex interface;
    AvahiProtocol protocol;
    std::string name;
    AvahiSServiceResolver* resolver = nullptr;  // the server's
    std::string hash{}, at{};                   // "": not resolved
  };

  Server open(const Loop& loop, const std::string& not_on) {
    Config config;
    config->disable_publishing = 1;
    if (!not_on.empty()) config->deny_interfaces = avahi_string_list_new(not_on.c_str(), nullptr);
    return config.open(
        loop, [](AvahiServer*, AvahiServerState, void*) {}, nullptr);
  }

  static void on_service(AvahiSServiceBrowser*, AvahiIfIndex interface, AvahiProtocol protocol,
                         AvahiBrowserEvent event, const char* name, const char* type,
                         const char* domain, AvahiLookupResultFlags, void* data) {
    auto& self = *static_cast<Finder*>(data);
    if (name == nullptr) return;
    const auto is_it = [&](const Service& service) {
      return service.interface == interface && service.protocol == protocol && service.name == name;
    };
    if (event == AVAHI_BROWSER_REMOVE) {
      for (const Service& service : self.services_) {
        if (is_it(service)) avahi_s_service_resolver_free(service.resolver);
      }
      std::erase_if(self.services_, is_it);
    }
    if (event != AVAHI_BROWSER_NEW || std::ranges::any_of(self.services_, is_it)) return;
    if (self.services_.size() >= kFamilies.size() * kServicesMax) return;
    for (const AvahiProtocol family : kFamilies) {
      self.services_.push_front({interface, protocol, name});
      Service& service = self.services_.front();
      service.resolver =
          avahi_s_service_resolver_new(self.server_.get(), interface, protocol, name, type, domain,
                                       family, AvahiLookupFlags{}, &Finder::on_resolved, &service);
      if (service.resolver == nullptr) self.services_.pop_front();
    }
  }

  // Again whenever it changes.
  static void on_resolved(AvahiSServiceResolver*, AvahiIfIndex interface, AvahiProtocol,
                          AvahiResolverEvent event, const char*, const char*, const char*,
                          const char*, const AvahiAddress* address, std::uint16_t port,
                          AvahiStringList* text, AvahiLookupResultFlags, void* data) {
    auto& service = *static_cast<Service*>(data);
    const bool is_found = event == AVAHI_RESOLVER_FOUND && address != nullptr && port != 0;
    service.hash = is_found ? key_of(text) : "";
    service.at = is_found ? address_text(*address, interface, port) : "";
  }

  std::list<Service> services_;  // their addresses are those of the resolvers' data
  Server server_;
};

}  // namespace

void announce_unit(SideProcess::Channel channel) {
  const auto packet = channel.receive();
  const auto unit = packet ? Announcement::read(*packet) : std::nullopt;
  if (!unit) return;
  Loop loop(channel);
  const Announcer announcer(loop, *unit);
  loop.run([](const std::string&) {});
}

void find_units(SideProcess::Channel channel, const std::string& not_on, std::size_t units_max) {
  Loop loop(channel);
  const Finder finder(loop, not_on);
  loop.run([&](const std::string& hash) { loop.reply(finder.units_of(hash, units_max)); });
}

}  // namespace splitnic::control
