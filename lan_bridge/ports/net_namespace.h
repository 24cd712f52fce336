// Another network namespace, for the short time in which an interface is made there: sockets and
// TAPs belong to the namespace that they were opened in. Thread: any; a Scope is of one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::lan {

class NetNamespace {
 public:
  // As `ip netns` names it, or the path of its file, with '/'. An error with ENODEV: there is none.
  static base::Result<NetNamespace> open(const std::string& name);

  // The thread is in the namespace as long as this lives.
  class Scope {
   public:
    Scope(Scope&&) = default;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class NetNamespace;
    explicit Scope(base::UniqueFd before) : before_(std::move(before)) {}
    base::UniqueFd before_;
  };
  // REQUIRES CAP_SYS_ADMIN, or the error reports that.
  base::Result<Scope> enter() const;

 private:
  NetNamespace(std::string name, base::UniqueFd file)
      : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;
  base::UniqueFd file_;
};

}  // namespace splitnic::lan
