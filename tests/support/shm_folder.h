// A folder of the test for the sockets of shm:// endpoints. The environment names it as long as
// this object lives.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/temp_folder.h"

namespace splitnic::support {

class ShmFolder : public TempFolder {
 public:
  ShmFolder() { EXPECT_EQ(::setenv("SPLITNIC_SHM_DIR", path().c_str(), 1), 0); }
  ~ShmFolder() { ::unsetenv("SPLITNIC_SHM_DIR"); }
};

}  // namespace splitnic::support
