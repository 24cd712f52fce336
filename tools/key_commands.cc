#include "tools/key_commands.h"

#include <cstdio>

#include "base/random.h"
#include "control/config/parse_outcome.h"
#include "fabric_emul/session/keys.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

namespace session = fabric::session;

int print_key(const session::Bytes32& key) {
  std::string line = session::base64_of(key) + "\n";
  const bool is_printed = std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  session::cleanse(std::as_writable_bytes(std::span(line)));
  return is_printed ? control::kExitOk : fail("cannot write to the standard output");
}

}  // namespace

int make_key(const std::string& path) {
  base::OsRandom random;
  const session::Secret key = session::random_private_key(random);
  if (path.empty()) return print_key(key.bytes());
  if (auto written = session::write_key_file(path, key); !written) {
    return fail(written.error().text());
  }
  return print_key(session::public_key_of(key).bytes);
}

int print_public_key(const std::string& path) {
  const auto key = session::read_key_file(path, session::KeyOwner::kAnyone);
  if (!key) return fail(key.error().text());
  return print_key(session::public_key_of(*key).bytes);
}

}  // namespace splitnic::tools
