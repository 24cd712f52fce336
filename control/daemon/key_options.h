// The options about keys: of which node this program has the key, and with which it may have a
// link. With keys every UDP link of the program is keyed. docs/protocol/session.md
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/crypto.h"

namespace CLI {
class App;
}

namespace splitnic::control {

struct KeyArguments {
  std::string key_file, psk_file, key_log;
  std::string aead = "auto";
};

struct KeyOptions {
  std::string key_file;  // own private key; "": no keys
  std::string psk_file;  // pre-shared key, with every peer; "": none
  std::string key_log;   // gets the keys of records; "": none
  fabric::session::AeadProvider aead = fabric::session::best_aead_provider();  // of records
  // Host: the I/O units, or the switches before them, as --connect; I/O unit: its hosts; switch:
  // none, the topology has them.
  std::vector<fabric::session::PublicKey> peers;

  bool are_given() const { return !key_file.empty(); }
  // The library that encrypts records, for `show`; "" without keys.
  std::string aead_name() const {
    return are_given() ? std::string(fabric::session::name_of(aead)) : "";
  }
};

// Adds --key-file, --psk-file, --key-log and --aead.
void add_key_options(CLI::App& app, KeyArguments& into, const std::string& group);
// `peers` are the values of `option`; they `may_be_empty` if peers are named elsewhere, too. The
// files are read when the program opens its fabric.
base::Result<KeyOptions> check_key_options(const KeyArguments& typed, const std::string& option,
                                           const std::vector<std::string>& peers,
                                           bool may_be_empty = false);

}  // namespace splitnic::control
