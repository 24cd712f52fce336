#include "control/daemon/report_exceptions.h"

#include <exception>
#include <new>

#include "control/config/parse_outcome.h"

namespace splitnic::control {

int report_exceptions(const std::string& program, const std::function<int()>& body) {
  const auto fail = [&program](const std::string& why) {
    const Refusal refusal = refuse(kExitFailed, program, why);
    return print_text(refusal.exit_code, refusal.text);
  };
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail("the system has too little memory");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace splitnic::control
