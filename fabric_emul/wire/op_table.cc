// Names of operations and services. docs/protocol/cell.md#operations
#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

static_assert(op_info(Op::kSend, Service::kRc).multi_cell);
static_assert(op_info(Op::kRdmaWrite, Service::kUd).allowed_by_option);
static_assert(!op_info(Op::kAck, Service::kUc).allowed);
static_assert(!op_info(static_cast<Op>(0x07), Service::kRc).allowed);
static_assert(!op_info(Op::kSend, static_cast<Service>(7)).allowed);

std::string_view name(Op op) {
  switch (op) {
    case Op::kSend:
      return "SEND";
    case Op::kSendDereg:
      return "SEND_DEREG";
    case Op::kRdmaWrite:
      return "RDMA_WRITE";
    case Op::kRdmaReadReq:
      return "RDMA_READ_REQ";
    case Op::kRdmaReadResp:
      return "RDMA_READ_RESP";
    case Op::kFetchOpReq:
      return "FETCHOP_REQ";
    case Op::kFetchOpResp:
      return "FETCHOP_RESP";
    case Op::kRaw:
      return "RAW";
    case Op::kIscsiPdu:
      return "ISCSI_PDU";
    case Op::kAck:
      return "ACK";
    case Op::kNak:
      return "NAK";
    case Op::kTerminate:
      return "TERMINATE";
    case Op::kMgmt:
      return "MGMT";
  }
  return "unknown";
}

std::string_view name(Service service) {
  switch (service) {
    case Service::kRc:
      return "RC";
    case Service::kUc:
      return "UC";
    case Service::kRd:
      return "RD";
    case Service::kUd:
      return "UD";
    case Service::kRaw:
      return "Raw";
    case Service::kStream:
      return "STREAM";
    case Service::kIscsi:
      return "iSCSI";
    case Service::kMgmt:
      return "MGMT";
  }
  return "unknown";
}

}  // namespace splitnic::fabric
