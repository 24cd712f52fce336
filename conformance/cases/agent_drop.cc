// SMPs that the tested switch must drop: not whole, by a way that there is not, from somebody who
// may not send them. docs/protocol/subnet.md#rejected
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"
#include "fabric_emul/wire/smp_lids.h"
#include "fabric_emul/wire/smp_policy.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::SmpAttribute;
using fabric::SmpMethod;

constexpr std::uint64_t kDropped = 0xD0'0000'0001;
constexpr std::size_t kTransactionAt = 8;
constexpr std::size_t kHopsAt = 16;
constexpr std::uint16_t kLastBlock = fabric::kSmpBlocksMax - 1;

// A GET NODE to the target with the transaction of what must be dropped, as bytes.
ByteVector good_request() {
  OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kEastLid, 0});
  get.smp.transaction = kDropped;
  get.smp.hop = 1;
  return get.bytes();
}

// The same to west, which the target passes on.
ByteVector passing_request() {
  ByteVector smp = good_request();
  smp.at(kHopsAt) = std::byte{2};
  smp.push_back(static_cast<std::byte>(kWestPort));
  return smp;
}

// The SMP before gets no reply and goes nowhere: the reply to a good request is the only one.
void expect_dropped(Subnet& s) {
  const auto reply = s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kEastLid, 0}),
                           "a reply to the good request behind it");
  if (!reply) return;
  s.listen(10ms);
  const bool is_replied = std::ranges::any_of(s.taken(), [](const Taken& one) {
    return one.smp.smp.transaction == kDropped || one.smp.smp.method == SmpMethod::kReply;
  });
  s.expect(!is_replied, "no reply to what is dropped");
  s.expect(s.find([](const Asked& one) { return one.smp.smp.transaction == kDropped; }) == nullptr,
           "nothing at another cable");
}

using ChangeSmp = std::function<void(ByteVector& smp)>;

void add_changed(SubnetGroup& group, const std::string& name, const std::string& title,
                 const std::function<ByteVector()>& request, const ChangeSmp& change) {
  group.add(name, "P-SUBN-2", title, [request, change](Subnet& s) {
    if (!s.begin()) return;
    ByteVector smp = request();
    change(smp);
    Node& east = s.end(kEastPort);
    for (int i = 0; i < 3; ++i) east.send_smp(east.smp_head(), smp);
    expect_dropped(s);
  });
}

void add_dropped(SubnetGroup& group, const std::string& name, const std::string& what,
                 const ChangeSmp& change) {
  add_changed(group, name, what + " is dropped.", good_request, change);
}

// It is dropped by the switch that would pass it on, and not by the one at the end of its route.
void add_dropped_on_the_way(SubnetGroup& group, const std::string& name, const std::string& what,
                            const ChangeSmp& change) {
  add_changed(group, name + "_on_the_way", what + " is not passed on.", passing_request, change);
}

ChangeSmp byte(std::size_t at, unsigned value) {
  return [=](ByteVector& smp) { smp.at(at) = static_cast<std::byte>(value); };
}

void add_formats(SubnetGroup& group) {
  add_dropped(group, "format", "An SMP of another format", byte(0, 2));
  add_dropped(group, "method_0", "An SMP of method 0", byte(1, 0));
  add_dropped(group, "method_5", "An SMP of an unknown method", byte(1, 5));
  add_dropped(group, "attribute_0", "An SMP of attribute 0", byte(2, 0));
  add_dropped(group, "attribute_8", "An SMP of an unknown attribute", byte(2, 8));
  add_dropped(group, "status_of_a_request", "A request with a status", byte(3, 1));
  add_dropped(group, "hops_65", "An SMP with 65 hops", [](ByteVector& smp) {
    smp.at(16) = std::byte{65};
    smp.insert(smp.end(), 64, std::byte{1});
  });
  add_dropped(group, "no_hops", "An SMP without a route", [](ByteVector& smp) {
    smp.at(16) = smp.at(17) = std::byte{0};
    smp.pop_back();
  });
  add_dropped(group, "hop_0", "An SMP with hop 0", byte(17, 0));
  add_dropped(group, "hop_beyond", "An SMP with a hop beyond its hops", byte(17, 2));
  add_dropped(group, "port_0", "An SMP with port 0 in its route", byte(20, 0));
  add_dropped(group, "port_33", "An SMP with port 33 in its route", byte(20, 33));
  add_dropped(group, "longer", "An SMP that is longer than its counts",
              [](ByteVector& smp) { smp.resize(smp.size() + 4); });
  add_dropped(group, "shorter", "An SMP that is shorter than its counts", byte(19, 4));
  add_dropped(group, "cut", "An SMP whose fixed part is cut",
              [](ByteVector& smp) { smp.resize(8); });
  add_dropped(group, "node_with_a_body", "GET NODE with a body", [](ByteVector& smp) {
    smp.at(19) = std::byte{12};
    smp.resize(smp.size() + 12);
  });
  add_dropped(group, "load_with_a_body", "GET LOAD with a body", [](ByteVector& smp) {
    smp.at(2) = static_cast<std::byte>(SmpAttribute::kLoad);
    smp.at(19) = std::byte{12};
    smp.resize(smp.size() + 12);
  });
  add_dropped(group, "manager_with_a_body", "SET MANAGER with a body", [](ByteVector& smp) {
    smp.at(1) = static_cast<std::byte>(SmpMethod::kSet);
    smp.at(2) = static_cast<std::byte>(SmpAttribute::kManager);
    smp.at(19) = std::byte{12};
    smp.resize(smp.size() + 12);
  });
}

void add_table_formats(SubnetGroup& group) {
  const auto with_table = [](SmpMethod method, auto change) {
    return [=](ByteVector& smp) {
      OwnedSmp set = table_part(PlayedSwitch::Table(PlayedSwitch::kLids), 0,
                                {.stage = fabric::SmpTable::Stage::kClear, .parts = 1});
      set.smp.method = method;
      set.smp.transaction = kDropped;
      set.smp.hop = 1;
      change(set.body);
      smp = set.bytes();
    };
  };
  const auto body_byte = [](std::size_t at, unsigned value) {
    return [=](ByteVector& body) { body.at(at) = static_cast<std::byte>(value); };
  };
  add_dropped(group, "block_192", "SET TABLE of block 192",
              with_table(SmpMethod::kSet, body_byte(1, 192)));
  add_dropped(group, "stage_3", "SET TABLE of an unknown stage",
              with_table(SmpMethod::kSet, body_byte(2, 3)));
  add_dropped(group, "stage_0", "SET TABLE without a stage",
              with_table(SmpMethod::kSet, body_byte(2, 0)));
  add_dropped(group, "parts_0", "SET TABLE of no parts",
              with_table(SmpMethod::kSet, body_byte(3, 0)));
  add_dropped(group, "parts_193", "SET TABLE of 193 parts",
              with_table(SmpMethod::kSet, body_byte(3, 193)));
  add_dropped(group, "table_cut", "SET TABLE with a block that is cut",
              with_table(SmpMethod::kSet, [](ByteVector& body) { body.resize(body.size() - 4); }));
  add_dropped(group, "get_with_ports", "GET TABLE with ports",
              with_table(SmpMethod::kGet,
                         [](ByteVector& body) { body.at(2) = body.at(3) = std::byte{0}; }));
  const auto get_with = [&](std::size_t at) {
    return with_table(SmpMethod::kGet, [at](ByteVector& body) {
      body.resize(12);
      body.at(2) = body.at(3) = std::byte{0};
      body.at(at) = std::byte{1};
    });
  };
  add_dropped(group, "get_with_stage", "GET TABLE with a stage", get_with(2));
  add_dropped(group, "get_with_parts", "GET TABLE with parts", get_with(3));
}

void add_formats_on_the_way(SubnetGroup& group) {
  add_dropped_on_the_way(group, "format", "An SMP of another format", byte(0, 2));
  add_dropped_on_the_way(group, "method_5", "An SMP of an unknown method", byte(1, 5));
  add_dropped_on_the_way(group, "attribute_8", "An SMP of an unknown attribute", byte(2, 8));
  add_dropped_on_the_way(group, "status_of_a_request", "A request with a status", byte(3, 1));
  add_dropped_on_the_way(group, "longer", "An SMP that is longer than its counts",
                         [](ByteVector& smp) { smp.resize(smp.size() + 4); });
  add_dropped_on_the_way(group, "node_with_a_body", "GET NODE with a body", [](ByteVector& smp) {
    smp.at(19) = std::byte{12};
    smp.resize(smp.size() + 12);
  });
}

void add_ways(SubnetGroup& group) {
  const auto by_port = [](std::uint8_t port) {
    return [=](ByteVector& smp) {
      smp.at(16) = std::byte{2};
      smp.push_back(static_cast<std::byte>(port));
    };
  };
  add_dropped(group, "way_to_a_node", "An SMP whose next port is that of a node",
              by_port(kNodePort));
  add_dropped(group, "way_to_nothing", "An SMP whose next port has nothing", by_port(7));
  group.add("way_down", "P-SUBN-2", "An SMP whose next link is down is dropped.",
            [by_port](Subnet& s) {
              if (!s.begin()) return;
              Node& west = s.end(kWestPort);
              west.send(west.init(fabric::InitStep::kBye));
              west.begin_instance(west.config().instance ^ 0x100);
              s.listen(10ms);
              ByteVector smp = good_request();
              by_port(kWestPort)(smp);
              s.end(kEastPort).send_smp(s.end(kEastPort).smp_head(), smp);
              expect_dropped(s);
            });
}

void add_passing_traps(SubnetGroup& group) {
  group.add("passing_traps", "P-SUBN-4", "TRAP for another switch makes this one not sweep.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.forget();
              for (int i = 0; i < 20 && s.is_good(); ++i) {
                ByteVector trap = passing_request();
                trap.at(1) = static_cast<std::byte>(SmpMethod::kTrap);
                trap.at(kTransactionAt) = static_cast<std::byte>(i);
                s.end(kEastPort).send_smp(s.end(kEastPort).smp_head(), trap);
                s.listen(20ms);
              }
              std::set<std::uint64_t> sweeps;
              for (const Asked& one : s.asked()) {
                if (one.at == "east" && one.is_first()) sweeps.insert(one.smp.smp.transaction);
              }
              s.expect(sweeps.size() <= 5, "a sweep every 500 ms");
            });
}

void add_sources(SubnetGroup& group) {
  const auto add_from_node = [&group](const std::string& name, const std::string& clause,
                                      const std::string& title,
                                      const std::vector<fabric::Lid>& sources) {
    group.add(name, clause, title, [sources](Subnet& s) {
      if (!s.begin()) return;
      OwnedSmp set =
          Subnet::request(SmpMethod::kSet, SmpAttribute::kManager, {kEastLid, UINT8_MAX});
      set.smp.hop = 1;
      set.smp.transaction = kDropped;
      fabric::CellHead head = s.node().smp_head();
      for (const fabric::Lid lid : sources) {
        head.header.slid = lid;
        for (int i = 0; i < 3; ++i) s.node().send_smp(head, set.bytes());
        s.node().send_smp(head, passing_request());
      }
      expect_dropped(s);
      const auto get =
          s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kManager, {kEastLid, 0}),
                "a reply that names the manager");
      if (get) s.expect(get->smp.manager == s.manager(), "the manager as before");
    });
  };
  add_from_node("from_a_node", "P-SUBN-3", "An SMP from the port of a node with a LID is dropped.",
                {kNearNodeLid, kEastLid});
  add_from_node("request_of_a_node", "P-SUBN-23", "A request from the port of a node is dropped.",
                {fabric::Lid()});
  for (const fabric::Lid lid : {kWestLid, kManagerLid, kNearNodeLid, fabric::Lid(77)}) {
    group.add("source_" + std::to_string(lid.value), "P-SUBN-3",
              "An SMP with an SLID that is not the switch at the cable is dropped.",
              [lid](Subnet& s) {
                if (!s.begin()) return;
                Node& east = s.end(kEastPort);
                fabric::CellHead head = east.smp_head();
                head.header.slid = lid;
                for (int i = 0; i < 3; ++i) {
                  east.send_smp(head, good_request());
                  east.send_smp(head, passing_request());
                }
                expect_dropped(s);
              });
  }
  group.add("through_the_tables", "P-SUBN-1",
            "An SMP to the LID of another switch is no SMP of this one.", [](Subnet& s) {
              if (!s.begin()) return;
              Node& east = s.end(kEastPort);
              fabric::CellHead head = east.smp_head();
              head.header.dlid = kEastLid;  // it would go back where it came from
              for (int i = 0; i < 3; ++i) east.send_smp(head, good_request());
              expect_dropped(s);
            });
}

void add_lids(SubnetGroup& group) {
  group.add("lids", "P-SUBN-22", "LIDS is not served where the file has the LIDs.", [](Subnet& s) {
    if (!s.begin()) return;
    const auto manager = *s.manager();
    for (const SmpMethod method : {SmpMethod::kGet, SmpMethod::kSet}) {
      OwnedSmp of_lids = Subnet::request(method, SmpAttribute::kLids, manager);
      fabric::SmpLids lids;
      if (method == SmpMethod::kSet) {
        lids.count = 4;
        lids.entry_count = 1;
        lids.entries[0] = {kFarNodeLid, 0};
      }
      of_lids.body.resize(lids.bytes());
      fabric::emit_smp_lids(of_lids.body, lids);
      expect_status(s, s.ask(of_lids, "a reply to LIDS"), fabric::SmpStatus::kBad, manager);
    }
  });
}

void add_policy(SubnetGroup& group) {
  group.add("policy", "P-SUBN-29", "POLICY is not served where the file has lanes and partitions.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const auto manager = *s.manager();
              const ByteVector all = fabric::emit_policy({});
              for (const SmpMethod method : {SmpMethod::kGet, SmpMethod::kSet}) {
                OwnedSmp of_policy = Subnet::request(method, SmpAttribute::kPolicy, manager);
                fabric::SmpPolicy part;
                if (method == SmpMethod::kSet)
                  part = fabric::policy_part(all, base::crc32c(all), 0);
                of_policy.body.resize(part.bytes());
                fabric::emit_smp_policy(of_policy.body, part);
                expect_status(s, s.ask(of_policy, "a reply to POLICY"), fabric::SmpStatus::kBad,
                              manager);
              }
            });
}

void add_fields(SubnetGroup& group) {
  group.add("get_last_block", "P-SUBN-1", "GET TABLE of a block without entries has its ports.",
            [](Subnet& s) {
              if (!s.begin()) return;
              OwnedSmp get = Subnet::request(SmpMethod::kGet, SmpAttribute::kTable, {kEastLid, 0});
              fabric::SmpTable part;
              part.block = kLastBlock;
              get.body.resize(part.bytes());
              fabric::emit_smp_table(get.body, part);
              const auto reply = s.ask(get, "a reply to GET TABLE");
              if (!reply) return;
              const fabric::SmpTable got = reply->table();
              s.expect(got.block == kLastBlock && got.ports.size() == fabric::kSmpBlockLids &&
                           std::ranges::count(got.ports, std::byte{0}) == fabric::kSmpBlockLids,
                       "256 ports of 0");
            });
  group.add("reserved", "P-SUBN-2", "Reserved bits are ignored.", [](Subnet& s) {
    if (!s.begin()) return;
    ByteVector smp = good_request();
    smp.at(7) = std::byte{0x7F};  // the other bit is C
    s.end(kEastPort).send_smp(s.end(kEastPort).smp_head(), smp);
    s.await("a reply", [&] {
      return std::ranges::any_of(s.taken(),
                                 [](const Taken& one) { return one.is_reply_to(kDropped); });
    });
  });
  group.add("transaction", "P-SUBN-1", "REPLY repeats the transaction, whatever it is.",
            [](Subnet& s) {
              if (!s.begin()) return;
              for (const std::uint64_t number : {std::uint64_t{0}, UINT64_MAX}) {
                ByteVector smp = good_request();
                for (std::size_t i = 0; i < 8; ++i) {
                  smp.at(kTransactionAt + i) = static_cast<std::byte>(number >> 56);
                }
                s.forget_taken();
                s.end(kEastPort).send_smp(s.end(kEastPort).smp_head(), smp);
                s.await("a reply with the transaction", [&] {
                  return std::ranges::any_of(
                      s.taken(), [number](const Taken& one) { return one.is_reply_to(number); });
                });
              }
            });
  group
      .add_harmful("garbage", "P-SUBN-2", "SMPs of any bytes are survived.",
                   [](Subnet& s) {
                     if (!s.begin()) return;
                     Node& east = s.end(kEastPort);
                     for (int i = 0; i < 1000; ++i) {
                       ByteVector smp = good_request();
                       for (int k = 0; k < 3; ++k) {
                         smp.at(east.random().below(static_cast<std::uint32_t>(smp.size()))) =
                             static_cast<std::byte>(east.random().next32());
                       }
                       smp.at(1) = static_cast<std::byte>(1 + i % 2 * 2);  // GET and REPLY
                       east.send_smp(east.smp_head(), smp);
                       if (i % 50 == 0) s.listen(1ms);
                     }
                     s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, {kEastLid, 0}),
                           "a reply to a good request");
                   })
      .level = Level::kRobustness;
}

}  // namespace

std::vector<Case> agent_drop_cases() {
  SubnetGroup group("agent");
  add_formats(group);
  add_table_formats(group);
  add_formats_on_the_way(group);
  add_ways(group);
  add_sources(group);
  add_passing_traps(group);
  add_lids(group);
  add_policy(group);
  add_fields(group);
  return group.take();
}

}  // namespace splitnic::conformance
