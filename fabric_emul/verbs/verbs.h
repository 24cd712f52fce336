// Includes the types that users of Adapter need next to it: the values of the fabric below the
// adapter that messaging and the modules see, and the channel that notifies of completions. Work
// queues, cells and descriptors stay hidden [S001-06].
#pragma once

#include "fabric_emul/mem/access.h"
#include "fabric_emul/transport/service.h"
#include "fabric_emul/transport/wc.h"
#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/verbs/completion_channel.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/op_table.h"
#include "fabric_emul/wire/partition.h"
