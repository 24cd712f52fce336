// The rules of whatever a target sends: of each flit, cell and connection message. They hold in
// every case, so a target that breaks one fails whatever the case is about. Each function returns
// the first rule that is broken, as a report has it; "" if all are kept. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "conformance/channel.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::conformance {

// Both ends of a link that is up, as their INIT has it.
struct LinkIdentities {
  fabric::Eui64 eui64, target_eui64;
  std::uint64_t instance = 0, target_instance = 0;
  fabric::Lid lid, target_lid;
};

std::string_view broken_by_data_flit(const fabric::FlitHeader& header, fabric::LinkProfile profile,
                                     bool crc_head_only);
std::string_view broken_by_filler(base::Bytes filler);
// `link`: none while it is not up. `partition`: of the cells of the target; none: any.
std::string_view broken_by_cell(base::Bytes bytes, const fabric::CellView& view,
                                const std::optional<LinkIdentities>& link,
                                std::optional<fabric::PartitionKey> partition);
std::string_view broken_by_mgmt(const fabric::MacHeader& header, const fabric::Mgmt& mgmt,
                                const std::optional<LinkIdentities>& link);
// A cell of a Send or an RDMA write, on this channel. `data`: the number of the channel of data.
std::string_view broken_by_request(const fabric::CellView& view, const Channel& c, unsigned channel,
                                   unsigned data);
// REQUIRES that c.packet_crc has the cells of the packet up to this one.
std::string_view broken_by_packet_crc(const fabric::CellView& view, const Channel& c);

}  // namespace splitnic::conformance
