// The commands `splitnic keygen` and `splitnic pubkey`: keys of nodes, in files and as text. They
// need no running program. Each prints its result, or one line on stderr, and returns the exit
// status.
#pragma once

#include <string>

namespace splitnic::tools {

// Makes a key. With `path`, the private key is written to that new file and the public key printed;
// without, the private key is printed.
int make_key(const std::string& path);
// Prints the public key of the private key in a file.
int print_public_key(const std::string& path);

}  // namespace splitnic::tools
