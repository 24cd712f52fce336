#include "tools/decrypt_command.h"

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "control/config/cli_app.h"
#include "control/config/parse_outcome.h"
#include "control/daemon/key_log_file.h"
#include "fabric_emul/session/key_log.h"
#include "fabric_emul/session/messages.h"
#include "tools/capture_file.h"
#include "tools/commands.h"
#include "tools/private_output.h"

namespace splitnic::tools {
namespace {

namespace session = fabric::session;
using Opened = session::RecordOpener::Opened;

enum class Count : std::uint8_t { kOpened, kNoKey, kTag, kReplay, kCut, kOther, kCount_ };
// As they are printed.
constexpr auto kNames = std::to_array<std::string_view>(
    {"records opened", "records without a key in the log", "records that no key opens",
     "records that came before", "records that the capture has cut",
     "other packets, as they were"});
static_assert(kNames.size() == static_cast<std::size_t>(Count::kCount_));

class Decryption {
 public:
  Decryption(session::RecordOpener& opener, CaptureWriter& out) : opener_(opener), out_(out) {}

  void take(const CapturedPacket& packet) {
    if (!packet.begin) return copy(packet);
    base::Bytes rest =
        base::Bytes(packet.bytes).subspan(*packet.begin, *packet.end - *packet.begin);
    if (const auto type = session::type_of(rest); type != session::MessageType::kData) {
      return copy(packet);
    }
    // A kernel may hand several records to a capture as one datagram.
    while (!rest.empty()) {
      const std::size_t bytes = session::first_record_bytes(rest);
      open(packet, rest.first(bytes), bytes == rest.size());
      rest = rest.subspan(bytes);
    }
  }
  std::uint64_t count(Count which) const { return counts_[static_cast<std::size_t>(which)]; }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      text += std::string(kNames[i]) + ": " + std::to_string(counts_[i]) + "\n";
    }
    return text;
  }

 private:
  void add(Count which) { ++counts_[static_cast<std::size_t>(which)]; }
  void copy(const CapturedPacket& packet) {
    add(Count::kOther);
    out_.add(packet);
  }
  void open(const CapturedPacket& packet, base::Bytes record, bool is_last) {
    switch (opener_.open(record, plain_)) {
      case Opened::kGood:
        add(Count::kOpened);
        if (!plain_.empty()) out_.add(with_datagram(packet, plain_));
        return;
      case Opened::kNotRecord:  // cut behind the header of the last one
        return add(Count::kCut);
      case Opened::kNoKey:
        return add(Count::kNoKey);
      case Opened::kTag:
        return add(is_last && packet.length > packet.bytes.size() ? Count::kCut : Count::kTag);
      case Opened::kReplay:
        return add(Count::kReplay);
    }
  }

  session::RecordOpener& opener_;
  CaptureWriter& out_;
  std::vector<std::byte> plain_;
  std::array<std::uint64_t, kNames.size()> counts_{};
};

bool are_one_file(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

}  // namespace

void add_decrypt(CLI::App& app, DecryptArguments& into) {
  auto* decrypt = app.add_subcommand(
      "decrypt", "From a capture of keyed links to one of the datagrams in them, for Wireshark");
  decrypt->add_option("in", into.in, "Capture: pcap or pcapng, of an interface or of --capture")
      ->required()
      ->type_name("IN");
  decrypt
      ->add_option("out", into.out,
                   "The pcap file to write, readable by its owner only; - is the standard output")
      ->required()
      ->type_name("OUT");
  control::add_repeated(*decrypt, "--key-log", into.key_logs,
                        "Key log that one end wrote; may repeat", "FILE")
      ->required();
}

int run_decrypt(const DecryptArguments& typed) {
  if (auto checked = check_output("decrypt: OUT -", typed.out); !checked) {
    return bad_usage(checked.error().text());
  }
  session::RecordOpener opener;
  for (const std::string& path : typed.key_logs) {
    const auto entries = control::read_key_log(path);
    if (!entries) return fail(entries.error().text());
    for (const session::KeyLogEntry& entry : *entries) opener.add(entry);
  }
  auto in = CaptureReader::open(typed.in);
  if (!in) return fail(in.error().text());
  if (typed.out != "-" && are_one_file(typed.in, typed.out)) {
    return bad_usage("decrypt: OUT is the capture itself");
  }
  auto out = CaptureWriter::create(typed.out, in->link_type());
  if (!out) return fail(out.error().text());
  Decryption decryption(opener, *out);
  for (;;) {
    const auto packet = in->next();
    if (!packet) return fail(packet.error().text());
    if (!*packet) break;
    decryption.take(**packet);
  }
  if (auto written = out->finish(); !written) return fail(written.error().text());
  std::fputs(decryption.text().c_str(), typed.out == "-" ? stderr : stdout);
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  if (decryption.count(Count::kOpened) > 0) return control::kExitOk;
  return fail("no record of " + typed.in + " was opened: give the key log of an end of its links");
}

}  // namespace splitnic::tools
