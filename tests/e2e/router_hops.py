#!/usr/bin/env python3
"""Has a router changed in cells what it should, and nothing else? (checks/router.sh)

  router_hops.py HOST_SIDE UNIT_SIDE HOST UNIT COUNT
                     HOST, UNIT: their network addresses. Each line of the files has the fields of the cells of a datagram, in the
                     order of FIELDS, as tshark prints them. At least COUNT cells with data each way must be on both sides

The hop limit is 64 before the router and 63 behind it, numbers and payload are as they were, and the cell CRC is another one. The last
cell of each packet has a packet CRC.
"""
import sys

OF_EACH_CELL = "global source hop_limit sl pos op packet_crc dqpn sqpn psn csn payload_bytes partition lcn cell_crc".split()
FIELDS = OF_EACH_CELL + ["payload"]
SEND, RDMA_WRITE = 0x00, 0x02
LAST, ONLY = 1, 3


def datagrams(path):
    """The values of each field, of one datagram after the other."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            columns = line.rstrip("\n").split("\t")
            yield dict(zip(FIELDS, ([value for value in column.split(",") if value] for column in columns)))


def hop_limits(path):
    found = {}
    for one in datagrams(path):
        for source, limit in zip(one["source"], one["hop_limit"]):
            found.setdefault(source, set()).add(int(limit))
    return found


def cells(path):
    """Of each cell with data, by its source and numbers: the cell CRCs, and what has to stay. Several if it was retransmitted."""
    found = {}
    for one in datagrams(path):
        sizes = [int(size) for size in one["payload_bytes"]]
        # A datagram with other cells in it, too, has more values of one field than of another.
        if len({len(one[name]) for name in OF_EACH_CELL}) != 1 or len(one["payload"]) != sum(size > 0 for size in sizes):
            continue
        payloads = iter(one["payload"])
        for i, size in enumerate(sizes):
            payload = next(payloads) if size else ""
            if int(one["op"][i], 0) in (SEND, RDMA_WRITE):
                ends_a_packet = int(one["pos"][i], 0) in (LAST, ONLY)
                if (one["packet_crc"][i] in ("1", "True")) != ends_a_packet:
                    sys.exit(f"cell {one['psn'][i]}/{one['csn'][i]} of {one['source'][i]} {'lacks' if ends_a_packet else 'has'} a packet CRC")
                key = tuple(one[name][i] for name in ("source", "op", "sqpn", "psn", "csn"))
                stays = tuple(one[name][i] for name in ("sl", "dqpn", "partition", "lcn")) + (payload,)
                crcs, all_that_stays = found.setdefault(key, (set(), set()))
                crcs.add(one["cell_crc"][i])
                all_that_stays.add(stays)
    return found


def main():
    host_side, unit_side, host, unit = sys.argv[1:5]
    wanted = int(sys.argv[5])
    for path, expected in ((host_side, {host: {64}, unit: {63}}), (unit_side, {host: {63}, unit: {64}})):
        if hop_limits(path) != expected:
            sys.exit(f"hop limits in {path}: {hop_limits(path)}, not {expected}")
    at_host, at_unit = cells(host_side), cells(unit_side)
    both = at_host.keys() & at_unit.keys()
    for key in both:
        (crcs, stays), (other_crcs, others) = at_host[key], at_unit[key]
        if len(stays) != 1 or stays != others:
            sys.exit(f"cell {key}: {stays} and {others}")
        if crcs & other_crcs:
            sys.exit(f"cell {key} has one CRC before and behind the router: {crcs & other_crcs}")
    counts = [sum(key[0] == source for key in both) for source in (host, unit)]
    print(f"hop limit 64 before the router and 63 behind it; {counts[0]} and {counts[1]} cells with the same payload and another CRC")
    if min(counts) < wanted:
        sys.exit(f"of {len(at_host)} and {len(at_unit)} cells fewer than {wanted} each way are on both sides")


main()
