// The reply to LIST_NICS, as rows of a report.
#pragma once

#include <string>

#include "host_module/nic_report.h"

namespace splitnic::host {

// Adds the NICs of the reply `data` to the report. Returns false if it is malformed or has
// more NICs than an I/O unit may have.
bool add_nics(const std::string& data, NicReport& report);

}  // namespace splitnic::host
