// The replies of several programs as they are printed together, with one line on stderr for each
// that refuses or is busy. A program that was killed leaves its socket, at which no program
// listens: it counts only where nothing else is there. docs/CLI.md#show---json
#pragma once

#include <string>

#include "base/status.h"
#include "control/socket/requests.h"

namespace splitnic::tools {

// The error of a reply that is not kOk. It begins with the socket, unless that is "".
base::Error refusal_of(const std::string& socket, const control::Reply& reply);

class SeveralReplies {
 public:
  explicit SeveralReplies(bool json) : json_(json) {}

  void add(const base::Result<std::string>& reply);
  // Prints the replies. Returns the exit status.
  int print() const;

 private:
  const bool json_;
  std::string text_;
  std::string nobody_;  // the error of a socket at which no program listens
  bool has_failed_ = false;
};

}  // namespace splitnic::tools
