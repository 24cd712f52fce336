// The command `splitnic decrypt`: from a capture of keyed links and the key log of one of their
// ends to a capture of the datagrams in the records. docs/wireshark.md#keyed-links
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace splitnic::tools {

struct DecryptArguments {
  std::string in, out;
  std::vector<std::string> key_logs;
};

void add_decrypt(CLI::App& app, DecryptArguments& into);
// Prints what became of the packets, one count per line, on stderr if OUT is the standard output;
// or one line on stderr. Returns the exit status: 1 also if no record was opened.
int run_decrypt(const DecryptArguments& typed);

}  // namespace splitnic::tools
