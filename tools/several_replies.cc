#include "tools/several_replies.h"

#include <cerrno>
#include <cstdio>

#include "control/config/parse_outcome.h"
#include "tools/commands.h"

namespace splitnic::tools {

base::Error refusal_of(const std::string& socket, const control::Reply& reply) {
  const base::Error error(reply.text);
  return socket.empty() ? error : error.within(socket);
}

void SeveralReplies::add(const base::Result<std::string>& reply) {
  if (reply) {
    text_ += (text_.empty() || json_ ? "" : "\n") + *reply;
    return;
  }
  const int error = reply.error().errno_value();
  if (error == ECONNREFUSED || error == ENOENT) {
    nobody_ = reply.error().text();
    return;
  }
  fail(reply.error().text());
  has_failed_ = true;
}

int SeveralReplies::print() const {
  if (text_.empty()) return has_failed_ ? control::kExitFailed : fail(nobody_);
  const bool is_written = std::fputs(text_.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!is_written) return fail("cannot write to the standard output");
  return has_failed_ ? control::kExitFailed : control::kExitOk;
}

}  // namespace splitnic::tools
