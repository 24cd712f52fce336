#include "conformance/report/decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "fabric_emul/session/messages.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/pretty.h"
#include "fabric_emul/wire/smp.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"

namespace splitnic::conformance {
namespace {

namespace session = fabric::session;
using messaging::Function;

std::string session_label(base::Bytes datagram) {
  const auto type = session::type_of(datagram);
  if (!type) return "a datagram that is none";
  switch (*type) {
    case session::MessageType::kInitiation:
      return "INITIATION";
    case session::MessageType::kResponse:
      return "RESPONSE";
    case session::MessageType::kCookie:
      return "COOKIE";
    case session::MessageType::kData:
      return fmt::format("record {}", session::Data::counter(datagram));
  }
  return "a datagram that is none";
}

std::string records_text(base::Bytes message) {
  std::string text;
  if (const auto pools = messaging::BufferRecvPool::parse(message)) {
    for (std::size_t i = 0; i < pools->size(); ++i) {
      const auto pool = (*pools)[i];
      text += fmt::format(" [pool {}: {} x {} bytes, handle {:08x}, address {:x}]", pool.pool.value,
                          pool.elements, pool.element_bytes, pool.handle.value, pool.address.value);
    }
  }
  if (const auto update = messaging::BufferRecvPoolUpdate::parse(message)) {
    for (std::size_t i = 0; i < update->size(); ++i) {
      const auto range = (*update)[i];
      text += fmt::format(" [pool {}: {} from {}]", range.pool.value, range.count, range.first);
    }
  }
  if (const auto request = messaging::CfgUtilRequest::parse(message)) {
    text += fmt::format(" {} with {} bytes", name(request->code), request->data.size());
  }
  if (const auto reply = messaging::CfgUtilReply::parse(message)) {
    text += fmt::format(" {} status {} with {} bytes", name(reply->code), name(reply->status),
                        reply->data.size());
  }
  return text;
}

// The first cell of a message has its header.
void add_message(base::Bytes payload, Decoded& out) {
  const auto header = messaging::MessageHeader::parse(payload);
  if (!header) return;
  const auto function = static_cast<Function>(header->function_code);
  out.label = std::string(messaging::name(function)) + records_text(payload);
  out.fields.push_back(fmt::format("message {} version {} context {:016x}{}",
                                   messaging::name(function), header->version,
                                   header->context.value, records_text(payload)));
}

// A flit of the full profile that has a part of a cell.
bool add_part(const fabric::FlitView& flit, Decoded& out) {
  constexpr std::uint8_t kWhole = fabric::kFlitSof | fabric::kFlitEof;
  const fabric::FlitHeader& h = flit.header;
  if ((h.ctl & kWhole) == kWhole) return false;
  const bool is_first = (h.ctl & fabric::kFlitSof) != 0;
  const bool is_last = (h.ctl & fabric::kFlitEof) != 0;
  out.label = fmt::format("{} part of a cell, lane {}, LSN {}",
                          is_first  ? "first"
                          : is_last ? "last"
                                    : "middle",
                          h.vl, h.lsn.value);
  return true;
}

void add_flit(const fabric::FlitView& flit, Decoded& out);

std::string smp_label(base::Bytes payload) {
  fabric::Smp smp;
  if (fabric::parse_smp(payload, smp) != fabric::SmpError::kNone) return "an SMP that is not valid";
  return fmt::format("{} {}{}", name(smp.method), name(smp.attribute),
                     smp.method == fabric::SmpMethod::kReply ? fmt::format(" {}", name(smp.status))
                                                             : std::string());
}

// On a path MGMT carries what has no cell.
std::string management_label(const fabric::CellView& cell) {
  if (cell.header.dqpn == fabric::kSubnetQpn) return smp_label(cell.payload);
  fabric::Mgmt mgmt;
  if (fabric::parse_mgmt(cell.payload, mgmt) == fabric::MgmtError::kNone)
    return std::string(name(mgmt.kind));
  fabric::FlitView flit;
  if (cell.header.dqpn != fabric::kPathQpn ||
      fabric::parse_flit(cell.payload, flit) != fabric::FlitError::kNone) {
    return "MGMT that is not valid";
  }
  Decoded of_path;
  add_flit(flit, of_path);
  return "path: " + of_path.label;
}

void add_cell(const fabric::FlitView& flit, Decoded& out) {
  if (add_part(flit, out)) return;
  fabric::CellView cell;
  const bool head_only = (flit.header.ctl & fabric::kFlitCellCrcHeadOnly) != 0;
  const auto error = fabric::parse_cell(flit.payload, cell, head_only);
  if (error != fabric::CellError::kNone) {
    out.label = fmt::format("a cell that is not valid: {}", name(error));
    return;
  }
  out.label = fmt::format("{} PSN {}", name(cell.header.op), cell.header.psn.value);
  if (cell.header.op == fabric::Op::kMgmt) out.label = management_label(cell);
  if (cell.header.op == fabric::Op::kSend && cell.header.csn == 0) add_message(cell.payload, out);
}

void add_flit(const fabric::FlitView& flit, Decoded& out) {
  out.label = std::string(name(flit.header.type));
  if (flit.header.type == fabric::FlitType::kInit) {
    fabric::Init init;
    out.label = fabric::parse_init(flit.payload, init) == fabric::InitError::kNone
                    ? fmt::format("INIT {}", name(init.step))
                    : "INIT that is not valid";
  }
  if (flit.header.type == fabric::FlitType::kData) add_cell(flit, out);
}

}  // namespace

Decoded decode(base::Bytes datagram) {
  Decoded out;
  std::string labels;
  fabric::FlitWalker walker(datagram);
  base::Bytes rest = datagram;
  for (fabric::FlitView flit;;) {
    switch (walker.next(flit)) {
      case fabric::FlitWalker::Step::kFlit:
        out.fields.push_back(fabric::dump_flit(rest));
        add_flit(flit, out);
        rest = rest.subspan(flit.bytes());
        labels += (labels.empty() ? "" : " + ") + out.label;
        break;
      case fabric::FlitWalker::Step::kBad:
        labels += (labels.empty() ? "" : " + ") +
                  fmt::format("a flit that is not valid: {}", name(walker.error()));
        rest = rest.subspan(std::min(rest.size(), flit.bytes()));
        break;
      case fabric::FlitWalker::Step::kSession:
        out.label = session_label(datagram);
        return out;
      case fabric::FlitWalker::Step::kEnd:
        out.label = labels.empty() ? "filler" : labels;
        return out;
    }
  }
}

std::string hex_of(base::Bytes bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += i % 16 == 0 ? "\n" : i % 4 == 0 ? " " : "";
    out += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return out;
}

}  // namespace splitnic::conformance
