#include "tools/bench/bench_service.h"

#include <algorithm>
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
constexpr auto kServiceWords = std::to_array<ServiceWord>({{Service::kRc, "rc"},
                                                           {Service::kUc, "uc"},
                                                           {Service::kUd, "ud"},
                                                           {Service::kRd, "rd"},
                                                           {Service::kStream, "stream"}});

// The operation on the wire. None of these services has kRaw.
constexpr fabric::Op request_of(Op op) {
  switch (op) {
    case Op::kWrite:
      return fabric::Op::kRdmaWrite;
    case Op::kSend:
      return fabric::Op::kSend;
    case Op::kRead:
      return fabric::Op::kRdmaReadReq;
    case Op::kFetchOp:
      return fabric::Op::kFetchOpReq;
    case Op::kDatagrams:
      break;
  }
  return fabric::Op::kRaw;
}

bool has_operation(Service service, Op op) {
  return fabric::op_info(request_of(op), service).allowed;
}

// "rc, rd or stream"
std::string services_with(Op op) {
  std::string words;
  std::string_view last;
  for (const ServiceWord& one : kServiceWords) {
    if (!has_operation(one.service, op)) continue;
    if (!last.empty()) words += (words.empty() ? "" : ", ") + std::string(last);
    last = one.word;
  }
  return words + (words.empty() ? "" : " or ") + std::string(last);
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

base::Status check_size(Op op, std::size_t bytes) {
  if (op != Op::kFetchOp || bytes == kFetchOpBytes) return {};
  return base::Error(
      "--size " + std::to_string(bytes) + ": fetchop changes a word of 8 bytes: leave --size out",
      EINVAL);
}

base::Status check_pieces(const Run& run) {
  if (run.pieces == 1) return {};
  if (run.op == Op::kFetchOp || (run.op == Op::kRead && run.service == Service::kStream)) {
    return base::Error("--pieces: a " + std::string(name(run.op)) + " on " +
                           std::string(fabric::name(run.service)) + " has one piece",
                       EINVAL);
  }
  if (run.pieces >= 1 && run.pieces <= fabric::kSgeMax && run.pieces <= run.bytes) return {};
  return base::Error("--pieces " + std::to_string(run.pieces) + ": a message of " +
                         std::to_string(run.bytes) + " bytes has 1 to " +
                         std::to_string(std::min(run.bytes, fabric::kSgeMax)),
                     EINVAL);
}

bool is_one_cell(Service service, Op op) {
  return is_datagram(service) && !fabric::op_info(request_of(op), service).multi_cell;
}

base::Status check_length(Service service, Op op, std::size_t bytes, std::uint16_t mcp) {
  if (!is_one_cell(service, op) || bytes <= mcp) return {};
  return base::Error("--size " + std::to_string(bytes) + ": a " + std::string(name(op)) + " of " +
                         std::string(fabric::name(service)) + " is one cell, of at most " +
                         std::to_string(mcp) + " bytes on this path: give a smaller one",
                     EMSGSIZE);
}

}  // namespace splitnic::bench
