// The notification of a completion queue that is armed, and the completions that it may be armed
// for. Sans-I/O: a queue calls the notifier and does nothing else. Thread: the data thread.
#pragma once

#include <cstdint>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

enum class CqEvents : std::uint8_t {
  kSolicited,  // the next that is solicited, or whose status is not kSuccess
  kNext        // the next of all
};

class CompletionNotifier {
 public:
  virtual ~CompletionNotifier() = default;
  // The queue `cq` was armed and has fired; it is not armed any more. Called by the post or the
  // iteration of the adapter that completes, which continues behind the call: it must not call the
  // adapter.
  virtual void on_completion(CqId cq) = 0;
};

}  // namespace splitnic::fabric
