// The file of --key-log: the keys of the records of every handshake, for `splitnic decrypt`. Who
// has it reads what crossed the links. One line is one write at the end of the file, so the queues
// of a program may share it. A disk that is full may cut a line: the next one begins behind a line
// end, and readers leave out what was cut. Thread: the data thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "fabric_emul/session/key_log.h"

namespace splitnic::control {

class KeyLogFile {
 public:
  // Creates the file, readable by its owner only, or appends to the one that is there. An error: it
  // is open to others, belongs to another user, or is no regular file.
  static base::Result<KeyLogFile> open(const std::string& path);
  // A key that cannot be written is lost, which is logged once.
  void add(const fabric::session::KeyLogEntry& entry);

 private:
  KeyLogFile(std::string path, base::UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  bool ends_in_a_cut_line() const;

  std::string path_;
  base::UniqueFd fd_;
  bool has_lost_ = false;
};

// Returns the keys of a file, which must be as KeyLogFile makes it, without lines that were cut.
base::Result<std::vector<fabric::session::KeyLogEntry>> read_key_log(const std::string& path);

}  // namespace splitnic::control
