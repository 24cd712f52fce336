// The options of a running program, and what its configuration file has for them when it is read
// again (SIGHUP, `splitnic reload`). A program can change some of them while it runs; the others
// wait for its next start, and are named at each reload until then. The command line stays, and
// wins. Thread: the main thread, then the control thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "control/config/parse_outcome.h"
#include "control/socket/requests.h"

namespace splitnic::control {

// Names of options, sorted.
struct OptionChanges {
  std::vector<std::string> at_once;
  std::vector<std::string> at_start;
  std::string note{};  // of an option that changes in part only; "": there is none

  bool has(const std::string& option) const;  // of at_once
  bool are_none() const { return at_once.empty() && at_start.empty() && note.empty(); }
};

class OptionsInForce {
 public:
  // `changeable` are those that can change while the program runs, besides log-level.
  OptionsInForce(GivenOptions given, std::vector<std::string> changeable);

  bool has_file() const { return !given_.config_path.empty(); }
  const std::string& file() const { return given_.config_path; }
  OptionChanges changes(const GivenOptions& read) const;
  // `read` has of this option what it was at the start.
  void restore_start(GivenOptions& read, const std::string& option) const;
  // The options that can change have changed.
  void take(const GivenOptions& read, const OptionChanges& changes);

 private:
  const GivenOptions at_start_;
  GivenOptions given_;
  const std::vector<std::string> changeable_;
};

// "log-level and allow have changed; tap differs: start the program again"
std::string text_of(const OptionChanges& changes);
// The reply to a reload that has failed, after a line in the log.
Reply refuse_reload(ReplyStatus status, const std::string& why);
// The same of one that has succeeded. `text` has no newline.
Reply accept_reload(const std::string& text);
// The same, but the peer does not take what has changed, and why.
Reply accept_reload_but(const std::string& text, const std::string& why);

// As main() read the options of a program, and how to read them again.
template <class Options>
struct OptionsSource {
  GivenOptions given;
  std::function<ParseOutcome<Options>()> parse;
};

template <class Options>
class ConfigReload {
 public:
  struct Read {
    Options options;
    GivenOptions given;
    OptionChanges changes;
  };

  ConfigReload(OptionsSource<Options> source, std::vector<std::string> changeable)
      : in_force_(std::move(source.given), std::move(changeable)),
        parse_(std::move(source.parse)) {}

  bool has_file() const { return in_force_.has_file(); }
  const std::string& file() const { return in_force_.file(); }
  // An error is one line that names the place.
  base::Result<Read> read() const {
    ParseOutcome<Options> outcome = parse_();
    if (!outcome.options) {
      const std::string& line = outcome.text;
      return base::Error(line.substr(0, line.find_last_not_of('\n') + 1) + "; nothing has changed");
    }
    OptionChanges changes = in_force_.changes(outcome.given);
    return Read{*std::move(outcome.options), std::move(outcome.given), std::move(changes)};
  }
  // `option` can change only back to what it was at the start, since what the file has waits for
  // the next one; each reload has this note until then. The value in read.options is the caller's.
  void hold(Read& read, const std::string& option, const std::string& note) const {
    in_force_.restore_start(read.given, option);
    read.changes = in_force_.changes(read.given);
    read.changes.note = note;
  }
  // The program has applied what can change, but for the log level, which changes now.
  void take(const Read& read) {
    if (read.changes.has("log-level")) base::set_log_level(read.options.common.log_level);
    in_force_.take(read.given, read.changes);
  }

 private:
  OptionsInForce in_force_;
  std::function<ParseOutcome<Options>()> parse_;
};

}  // namespace splitnic::control
