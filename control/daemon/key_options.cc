#include "control/daemon/key_options.h"

#include "control/config/cli_app.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::control {
namespace {

using fabric::session::AeadProvider;

base::Result<AeadProvider> check_aead(const std::string& typed) {
  if (typed == "auto") return fabric::session::best_aead_provider();
  if (typed == "openssl") return AeadProvider::kOpenSsl;
  if (typed != "ipsec-mb") {
    return base::Error("--aead: '" + typed + "' is none of auto, ipsec-mb and openssl");
  }
  if (fabric::session::make_aead(AeadProvider::kIpsecMb) == nullptr) {
    return base::Error(
        "--aead ipsec-mb: this program was built without it, or this processor has no AES-NI: "
        "leave the option out, or give openssl");
  }
  return AeadProvider::kIpsecMb;
}

}  // namespace

void add_key_options(CLI::App& app, KeyArguments& into, const std::string& group) {
  app.add_option("--key-file", into.key_file,
                 "File of this node's private key (splitnic keygen): every UDP link is encrypted "
                 "and needs the keys of both ends")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--psk-file", into.psk_file,
                 "File of a pre-shared key, the same at both ends (default: none)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--key-log", into.key_log,
                 "Append the keys of all records to this file, for splitnic decrypt: whoever reads "
                 "it reads the traffic (default: none)")
      ->type_name("FILE")
      ->group(group);
  app.add_option(
         "--aead", into.aead,
         with_default("Library that encrypts the records of keyed links; both give the same bytes",
                      into.aead + ": the fastest here"))
      ->type_name("auto|ipsec-mb|openssl")
      ->group(group);
}

base::Result<KeyOptions> check_key_options(const KeyArguments& typed, const std::string& option,
                                           const std::vector<std::string>& peers,
                                           bool may_be_empty) {
  KeyOptions out;
  out.key_file = typed.key_file;
  out.psk_file = typed.psk_file;
  out.key_log = typed.key_log;
  const auto aead = check_aead(typed.aead);
  if (!aead) return aead.error();
  out.aead = *aead;
  if (!out.are_given()) {
    if (!peers.empty()) return base::Error(option + ": --key-file is missing");
    if (!typed.psk_file.empty()) return base::Error("--psk-file: --key-file is missing");
    if (!typed.key_log.empty()) return base::Error("--key-log: --key-file is missing");
    if (typed.aead != "auto") return base::Error("--aead: --key-file is missing");
    return out;
  }
  if (peers.empty() && !may_be_empty) return base::Error("--key-file: " + option + " is missing");
  for (const std::string& text : peers) {
    const auto key = fabric::session::parse_public_key(text);
    if (!key) return key.error().within(option);
    out.peers.push_back(*key);
  }
  return out;
}

}  // namespace splitnic::control
