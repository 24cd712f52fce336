#include "control/daemon/name_lookup.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

using Secrets = std::optional<std::vector<std::string>>;

constexpr std::string_view kNone = "none\n";  // then the error; else one "ADDRESS:PORT" per line

// The C library reads files here: its modules, and their settings.
std::vector<std::string> folders_of_resolver() {
  return {"/etc", "/run", "/usr", "/lib", "/lib64"};
}

std::optional<sandbox::Needs> needs(const Secrets& secrets) {
  if (!secrets) return std::nullopt;
  sandbox::Needs needs;
  for (const std::string& folder : folders_of_resolver()) {
    needs.files.push_back({folder, sandbox::FileRight::kReadAndList});
  }
  return needs;
}

std::string look_up(const std::string& name_and_port) {
  const auto found = fabric::UdpUnderlay::resolve_all(name_and_port);
  if (!found) return std::string(kNone) + found.error().text();
  std::string lines;
  for (std::size_t i = 0; i < found->size() && i < NameLookup::kAddressesMax; ++i) {
    lines += fabric::UdpAddress((*found)[i]).text() + "\n";
  }
  return lines;
}

std::string look_up_without(const std::string& name_and_port, const Secrets& secrets) {
  if (secrets) {
    const auto rules = sandbox::rules_to_read_all_but(folders_of_resolver(), *secrets);
    if (auto restricted = sandbox::restrict_files(rules); !restricted) {
      return std::string(kNone) + restricted.error().text();
    }
  }
  return look_up(name_and_port);
}

// A rule is about the files that there are when it is made, and those of the resolver are replaced
// now and then. So each lookup has a process, with rules made for it; what strangers send is parsed
// there alone.
void look_up_apart(const SideProcess::Channel& channel, const std::string& name_and_port,
                   const Secrets& secrets) {
  const pid_t forked = ::fork();
  if (forked == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a lookup may take long
    ::_exit(channel.send(look_up_without(name_and_port, secrets)) ? 0 : 1);
  }
  if (forked < 0) {
    const auto error = base::Error::from_errno("looking up " + name_and_port, errno);
    channel.send(std::string(kNone) + error.text());
    return;
  }
  int status = 0;
  while (::waitpid(forked, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return;
  channel.send(std::string(kNone) + "the process that looks up " + name_and_port +
               " ended before it had a result");
}

void serve(const SideProcess::Channel& channel, const Secrets& secrets) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (const auto name_and_port = channel.receive()) {
    look_up_apart(channel, *name_and_port, secrets);
  }
}

}  // namespace

base::Result<std::unique_ptr<NameLookup>> NameLookup::open(
    const Endpoint& endpoint, const std::optional<std::vector<std::string>>& secrets) {
  std::unique_ptr<SideProcess> process;
  if (endpoint.is_name()) {
    auto begun = SideProcess::begin(
        "splitnic-names", needs(secrets),
        [secrets](const SideProcess::Channel& channel) { serve(channel, secrets); });
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
