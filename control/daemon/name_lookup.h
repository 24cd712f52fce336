// The addresses of a name, or of an I/O unit that announces itself, found by another process
// (side_process.h) while the caller does other work: a name server that does not reply takes the
// resolver of the system 10 s and more. It may be asked again as long as the program runs. Thread:
// as SideProcess.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "control/config/values.h"
#include "control/daemon/side_process.h"
#include "fabric_emul/session/crypto.h"

namespace splitnic::control {

class NameLookup {
 public:
  using Found = base::Result<std::vector<Endpoint>>;
  static constexpr std::size_t kAddressesMax = 16;

  // An endpoint that has no name is its own result, and needs no process. `secrets`: what the
  // resolver of the system cannot read, see rules_to_read_all_but(); nothing: the program has no
  // sandbox.
  static base::Result<std::unique_ptr<NameLookup>> open(
      const Endpoint& endpoint, const std::optional<std::vector<std::string>>& secrets);

  // The I/O unit of this key, wherever it announces itself (mdns.h), but for the interface
  // `not_on`; "": any. REQUIRES kHasMdns.
  static base::Result<std::unique_ptr<NameLookup>> open_announced(
      const fabric::session::PublicKey& key, const std::string& not_on, bool is_restricted);

  // Begins to look the name up, unless that has begun.
  void request();
  // Returns the endpoints with an address in place of the name, IPv4 and IPv6, up to kAddressesMax
  // in the order in which to try them, once after each request(). An error: none was found, or the
  // process is gone.
  std::optional<Found> take();
  // The name or the key, for the log.
  const std::string& text() const { return text_; }

 private:
  NameLookup(std::string text, std::string query, std::unique_ptr<SideProcess> process)
      : text_(std::move(text)), query_(std::move(query)), process_(std::move(process)) {}
  Found read(const std::string& packet) const;

  std::string text_;
  std::string query_;                     // to the process
  Endpoint endpoint_{};                   // without a process
  std::unique_ptr<SideProcess> process_;  // null: it has no name
  bool is_requested_ = false;
};

}  // namespace splitnic::control
