// The table of operations and services, total over all 64 x 16 values: a pair that is not listed is
// not allowed. It also lists the extension headers of each pair. docs/protocol/cell.md#operations
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace splitnic::fabric {

enum class Op : std::uint8_t {
  kSend = 0x00,
  kSendDereg = 0x01,
  kRdmaWrite = 0x02,
  kRdmaReadReq = 0x03,
  kRdmaReadResp = 0x04,
  kFetchOpReq = 0x05,
  kFetchOpResp = 0x06,
  kRaw = 0x08,
  kIscsiPdu = 0x09,
  kAck = 0x10,
  kNak = 0x11,
  kTerminate = 0x12,
  kMgmt = 0x18,
};
inline constexpr std::size_t kOpValues = 64;

enum class Service : std::uint8_t {
  kRc = 0,
  kUc = 1,
  kRd = 2,
  kUd = 3,
  kRaw = 4,
  kStream = 5,
  kIscsi = 6,
  kMgmt = 15,
};
inline constexpr std::size_t kServiceValues = 16;

// The cells of a packet that have the VA/MH extension.
enum class VaMhRule : std::uint8_t { kNever, kFirstOrOnly, kEvery };

struct OpInfo {
  bool allowed = false;
  bool allowed_by_option = false;  // legal on the wire; a QP accepts it only if enabled
  bool multi_cell = false;         // false: Pos must be "only"
  bool multi_by_option = false;    // multi-cell only if the context takes it
  VaMhRule va_mh = VaMhRule::kNever;
  bool has_ee = false;
  bool has_stream = false;
  bool has_read = false;
  bool has_atomic = false;
  bool may_have_idata = false;  // flag I decides, cell by cell
  bool has_dereg = false;       // in the last or only cell
  bool has_ack = false;
  friend bool operator==(const OpInfo&, const OpInfo&) = default;
};

namespace internal {

constexpr OpInfo make_op_info(Op op, Service service) {
  const bool rc = service == Service::kRc;
  const bool uc = service == Service::kUc;
  const bool rd = service == Service::kRd;
  const bool ud = service == Service::kUd;
  const bool stream = service == Service::kStream;
  OpInfo info;
  switch (op) {
    case Op::kSend:
      info.allowed = rc || uc || rd || ud || stream;
      info.multi_cell = rc || uc || rd || stream;
      info.multi_by_option = rd;
      info.may_have_idata = true;
      break;
    case Op::kSendDereg:
      info.allowed = rc || rd || stream;
      info.multi_cell = true;
      info.multi_by_option = rd;
      info.may_have_idata = true;
      info.has_dereg = true;
      break;
    case Op::kRdmaWrite:
      info.allowed = rc || uc || rd || ud || stream;
      info.allowed_by_option = ud;
      info.multi_cell = rc || uc || stream;
      info.va_mh = stream ? VaMhRule::kEvery : VaMhRule::kFirstOrOnly;
      info.may_have_idata = true;
      break;
    case Op::kRdmaReadReq:
      info.allowed = rc || rd || stream;
      info.va_mh = VaMhRule::kFirstOrOnly;
      info.has_read = stream;
      break;
    case Op::kRdmaReadResp:
      info.allowed = rc || rd || stream;
      info.multi_cell = rc || stream;
      info.va_mh = stream ? VaMhRule::kEvery : VaMhRule::kNever;
      break;
    case Op::kFetchOpReq:
      info.allowed = rc || rd;
      info.va_mh = VaMhRule::kFirstOrOnly;
      info.has_atomic = true;
      break;
    case Op::kFetchOpResp:
      info.allowed = rc || rd;
      break;
    case Op::kRaw:
      info.allowed = service == Service::kRaw;
      break;
    case Op::kIscsiPdu:
      info.allowed = service == Service::kIscsi;
      info.multi_cell = true;
      break;
    case Op::kAck:
    case Op::kNak:
      info.allowed = rc || rd || stream;
      info.has_ack = true;
      break;
    case Op::kTerminate:
      info.allowed = rc || stream;
      break;
    case Op::kMgmt:
      info.allowed = service == Service::kMgmt;
      break;
  }
  return info;
}

// Adds the extensions that depend on the service alone.
constexpr OpInfo make_entry(Op op, Service service) {
  OpInfo info = make_op_info(op, service);
  if (!info.allowed) return OpInfo{};
  info.has_ee = service == Service::kRd;
  info.has_stream = service == Service::kStream || service == Service::kIscsi;
  return info;
}

constexpr auto make_op_table() {
  std::array<OpInfo, kOpValues * kServiceValues> table{};
  for (std::size_t op = 0; op < kOpValues; ++op) {
    for (std::size_t service = 0; service < kServiceValues; ++service) {
      table[op * kServiceValues + service] =
          make_entry(static_cast<Op>(op), static_cast<Service>(service));
    }
  }
  return table;
}

inline constexpr auto kOpTable = make_op_table();

}  // namespace internal

// Total: takes any 6-bit operation and any 4-bit service. An unknown pair has allowed == false.
constexpr const OpInfo& op_info(Op op, Service service) {
  return internal::kOpTable[(static_cast<std::size_t>(op) % kOpValues) * kServiceValues +
                            static_cast<std::size_t>(service) % kServiceValues];
}

// Returns true for requests whose response carries data.
constexpr bool wants_response(Op op) { return op == Op::kRdmaReadReq || op == Op::kFetchOpReq; }

// "SEND", "RDMA_WRITE" ...; "unknown" for any other value.
std::string_view name(Op op);
// "RC", "UC" ...; "unknown" for any other value.
std::string_view name(Service service);

}  // namespace splitnic::fabric
