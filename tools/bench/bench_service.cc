#include "tools/bench/bench_service.h"

#include <array>
#include <cerrno>
#include <string>

namespace splitnic::bench {
namespace {

using fabric::Service;

struct ServiceWord {
  Service service;
  std::string_view word;
};
constexpr auto kServiceWords = std::to_array<ServiceWord>(
    {{Service::kRc, "rc"}, {Service::kUc, "uc"}, {Service::kUd, "ud"}, {Service::kRd, "rd"}});

// The operation on the wire. None of these services has kRaw.
constexpr fabric::Op request_of(Op op) {
  switch (op) {
    case Op::kWrite:
      return fabric::Op::kRdmaWrite;
    case Op::kSend:
      return fabric::Op::kSend;
    case Op::kRead:
      return fabric::Op::kRdmaReadReq;
    case Op::kDatagrams:
      break;
  }
  return fabric::Op::kRaw;
}

bool has_operation(Service service, Op op) {
  return fabric::op_info(request_of(op), service).allowed;
}

// "rc or rd"
std::string services_with(Op op) {
  std::string words;
  for (const ServiceWord& one : kServiceWords) {
    if (!has_operation(one.service, op)) continue;
    if (!words.empty()) words += " or ";
    words += one.word;
  }
  return words;
}

}  // namespace

std::string_view word_of(Service service) {
  for (const ServiceWord& one : kServiceWords) {
    if (one.service == service) return one.word;
  }
  return {};
}

std::optional<Service> service_of(std::string_view word) {
  for (const ServiceWord& one : kServiceWords) {
    if (one.word == word) return one.service;
  }
  return std::nullopt;
}

base::Status check_run(Service service, Op op, std::size_t queue_pairs) {
  const std::string name_of_service(fabric::name(service));
  if (!has_operation(service, op)) {
    return base::Error("bench: " + name_of_service + " has no " + std::string(name(op)) +
                       ": measure it with --service " + services_with(op));
  }
  const std::size_t most = service == Service::kRd ? kQueuePairsMax : 1;
  if (queue_pairs == 0 || queue_pairs > most) {
    return base::Error("bench: " + name_of_service + " is measured with 1 to " +
                       std::to_string(most) + " queue pairs at each end");
  }
  return {};
}

base::Status check_length(Service service, std::size_t bytes, std::uint16_t mcp) {
  if (fabric::is_connected(service) || bytes <= mcp) return {};
  return base::Error("--size " + std::to_string(bytes) + ": a message of " +
                         std::string(fabric::name(service)) + " is one cell, of at most " +
                         std::to_string(mcp) + " bytes on this path: give a smaller one",
                     EMSGSIZE);
}

}  // namespace splitnic::bench
