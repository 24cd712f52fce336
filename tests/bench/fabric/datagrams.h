// The plain comparator of goal V10: datagrams of one length by sendmmsg and recvmmsg, 64 a call.
// Lost datagrams do not count.
#pragma once

#include "tests/bench/fabric/two_ends.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

void serve_datagrams(const Ends& ends, const Run& run, Control& control);
void measure_datagrams(const Run& run, Control& control);

}  // namespace splitnic::bench
