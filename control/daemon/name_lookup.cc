#include "control/daemon/name_lookup.h"

#include <sys/prctl.h>

#include <cerrno>
#include <csignal>
#include <sstream>
#include <string>
#include <utility>

#include "control/daemon/mdns.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_underlay.h"

namespace splitnic::control {
namespace {

constexpr std::string_view kNone = "none\n";  // then the error; else one "ADDRESS:PORT" per line

std::string look_up(const std::string& name_and_port) {
  const auto found = fabric::UdpUnderlay::resolve_all(name_and_port);
  if (!found) return std::string(kNone) + found.error().text();
  std::string lines;
  for (std::size_t i = 0; i < found->size() && i < NameLookup::kAddressesMax; ++i) {
    lines += fabric::UdpAddress((*found)[i]).text() + "\n";
  }
  return lines;
}

void serve(SideProcess::Channel channel) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a lookup may take long
  while (const auto name_and_port = channel.receive()) channel.send(look_up(*name_and_port));
}

}  // namespace

base::Result<std::unique_ptr<NameLookup>> NameLookup::open(const Endpoint& endpoint,
                                                           bool is_restricted) {
  std::unique_ptr<SideProcess> process;
  if (endpoint.is_name()) {
    auto begun =
        SideProcess::begin("splitnic-names", SideProcess::only_reads_files(is_restricted), serve);
    if (!begun) return begun.error();
    process = *std::move(begun);
  }
  std::unique_ptr<NameLookup> lookup(new NameLookup(
      endpoint.text(), endpoint.is_shm() ? "" : endpoint.udp_text(), std::move(process)));
  lookup->endpoint_ = endpoint;
  return lookup;
}

base::Result<std::unique_ptr<NameLookup>> NameLookup::open_announced(
    const fabric::session::PublicKey& key, const std::string& not_on, bool is_restricted) {
  auto begun = SideProcess::begin(
      "splitnic-mdns", SideProcess::reads_no_files(is_restricted),
      [not_on](SideProcess::Channel channel) { find_units(channel, not_on, kAddressesMax); });
  if (!begun) return begun.error();
  const std::string text = "any I/O unit with the key " + fabric::session::base64_of(key.bytes);
  return std::unique_ptr<NameLookup>(new NameLookup(text, key_hash(key), *std::move(begun)));
}

void NameLookup::request() {
  if (is_requested_) return;
  is_requested_ = true;
  if (process_ != nullptr) process_->send(query_);
}

std::optional<NameLookup::Found> NameLookup::take() {
  if (!is_requested_) return std::nullopt;
  if (process_ == nullptr) {
    is_requested_ = false;
    return std::vector{endpoint_};
  }
  const auto packet = process_->receive();
  if (!packet && process_->is_alive()) return std::nullopt;
  is_requested_ = false;
  if (packet) return read(*packet);
  return base::Error("the process that looks up " + text_ + " has ended: start again");
}

NameLookup::Found NameLookup::read(const std::string& packet) const {
  if (packet.starts_with(kNone)) {
    return base::Error("connecting to " + text_ + ": " + packet.substr(kNone.size()), EHOSTUNREACH);
  }
  std::vector<Endpoint> found;
  std::istringstream lines(packet);
  for (std::string line; std::getline(lines, line) && found.size() < kAddressesMax;) {
    auto endpoint = parse_endpoint("udp://" + line);
    if (endpoint && endpoint->ip) found.push_back(*std::move(endpoint));
  }
  if (!found.empty()) return found;
  return base::Error("connecting to " + text_ + ": no address found", EHOSTUNREACH);
}

}  // namespace splitnic::control
