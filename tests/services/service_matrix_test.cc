// The total table service x operation, by Adapter::create_qp() alone: each pair works from end to
// end, or the post is refused and puts nothing on the wire.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::service_matrix_test {

using namespace std::chrono_literals;

constexpr auto kOps =
    std::to_array<WrOp>({WrOp::kSend, WrOp::kSendDereg, WrOp::kRdmaWrite, WrOp::kRdmaRead,
                         WrOp::kFetchOp, WrOp::kBind, WrOp::kUnbind, WrOp::kDelay});

struct Row {
  Service service;
  const char* works;  // one letter for each of kOps: x works, o works by option, - is refused
};
constexpr auto kRows = std::to_array<Row>({{Service::kRc, "xxxxxxxx"},
                                           {Service::kUc, "x-x--xxx"},
                                           {Service::kRd, "xxxxxxxx"},
                                           {Service::kUd, "x-o--xxx"},
                                           {Service::kRaw, "x----xxx"}});

// One pair of queue pairs of a service, and what each operation needs.
class Pair {
 public:
  Pair(Service service, bool has_option) {
    QpInit near = mesh_.node(0).init(service);
    QpInit far = mesh_.node(1).init(service);
    for (QpInit* init : {&near, &far}) {
      init->common.max_dest_rd_atomic = 4;
      init->common.takes_dereg = true;
      init->has_datagram_rdma = has_option;
    }
    if (is_connected(service)) {
      from_ = mesh_.node(0).adapter.create_qp(near, mesh_.now()).value();
      to_ = mesh_.node(1).adapter.create_qp(far, mesh_.now()).value();
      const MgmtPair here = mesh_.node(0).adapter.describe(from_, 0, 0);
      const MgmtPair there = mesh_.node(1).adapter.describe(to_, 0, 0);
      CHECK(mesh_.node(0).adapter.connect_qp(here, there, *mesh_.node(0).links[1]).has_value());
      CHECK(mesh_.node(1).adapter.connect_qp(there, here, *mesh_.node(1).links[0]).has_value());
    } else {
      from_ = mesh_.make(0, near);
      to_ = mesh_.make(1, far);
    }
    if (service == Service::kRaw) {
      CHECK(mesh_.node(1).adapter.add_raw_filter(to_, {.next_header = 59}).has_value());
      const Gnh header{.length = 0, .next_header = 59, .hop_limit = 64};
      header.emit(mine_.bytes.data());
    }
    key_ = mesh_.node(0).adapter.memory().windows().reserve_window(mesh_.node(0).pd).value();
    CHECK(mesh_.node(1).adapter.post_recv(to_, RecvWr{1, std::array{room_.sge()}}).has_value());
  }

  SendWr request(WrOp op) {
    SendWr wr;
    wr.op = op;
    wr.remote_address = theirs_.start;
    wr.remote_handle = theirs_.handle;
    wr.dereg = ended_.handle;
    wr.destination_ee = mesh_.ee(0, 1);
    wr.destination_lid = mesh_.node(0).links[1]->remote_lid();
    wr.destination_qpn = to_;
    wr.local.window = key_;
    wr.local.region = mine_.handle;
    wr.local.address = mine_.start;
    wr.local.length = 8;
    wr.local.rights = kRemoteRead;
    pieces_ = {mine_.sge(0, op == WrOp::kFetchOp ? 8 : kGnhBytes)};
    if (!is_local(op)) wr.gather = pieces_;
    return wr;
  }
  bool ends_well() {
    return mesh_.run_until([&] { return !mesh_.node(0).sent.empty(); }) &&
           mesh_.node(0).sent[0].status == WcStatus::kSuccess;
  }
  void bind() {
    CHECK(post(WrOp::kBind).has_value() && ends_well());
    mesh_.node(0).sent.clear();
  }
  base::Status post(WrOp op) { return mesh_.node(0).adapter.post_send(from_, request(op)); }
  // Whether the operation is done at its destination.
  bool has_effect(WrOp op) {
    mesh_.run_for(1ms);
    const MrwtEntry* window = mesh_.node(0).adapter.memory().entry(key_);
    switch (op) {
      case WrOp::kSend:
        return has_arrived();
      case WrOp::kSendDereg:
        return has_arrived() && mesh_.node(1).received[0].ended == ended_.handle &&
               mesh_.node(1).adapter.memory().entry(ended_.handle) == nullptr;
      case WrOp::kRdmaWrite:
        return theirs_.bytes == mine_.bytes;
      case WrOp::kRdmaRead:
      case WrOp::kFetchOp:
        return std::equal(mine_.bytes.begin(), mine_.bytes.begin() + 8, before_.begin());
      case WrOp::kBind:
        return window->is_valid && window->length == 8;
      case WrOp::kUnbind:
        return !window->is_valid;
      default:
        return true;
    }
  }
  // Cells, but for those of the link and of MGMT.
  std::uint64_t cells() { return mesh_.count(0, TransportCounter::kTxCells); }
  QpState state() { return mesh_.state(0, from_); }

 private:
  bool has_arrived() {
    return mesh_.node(1).received.size() == 1 && mesh_.node(1).received[0].bytes == kGnhBytes;
  }

  RdMesh mesh_{2};
  Memory& mine_ = mesh_.node(0).memory(kGnhBytes, 3);
  Memory& theirs_ = mesh_.node(1).memory(kGnhBytes, 4);
  Memory& room_ = mesh_.node(1).memory(200);
  Memory& ended_ = mesh_.node(1).memory(8);
  const std::vector<std::byte> before_ = theirs_.bytes;
  MemoryHandle key_;
  Qpn from_, to_;
  std::vector<Sge> pieces_;
};

TEST(ServiceMatrixTest, S004_02_X_29_each_operation_of_each_service_works_or_is_refused) {
  for (const Row& row : kRows) {
    for (std::size_t i = 0; i < kOps.size(); ++i) {
      for (const bool has_option : {false, true}) {
        SCOPED_TRACE(std::string(name(row.service)) + " operation " + std::to_string(i) +
                     (has_option ? " with the option" : ""));
        Pair pair(row.service, has_option);
        if (kOps[i] == WrOp::kUnbind) pair.bind();
        const std::uint64_t cells = pair.cells();
        const bool works = row.works[i] == 'x' || (row.works[i] == 'o' && has_option);
        const base::Status posted = pair.post(kOps[i]);
        ASSERT_EQ(posted.has_value(), works);
        if (works) {
          EXPECT_TRUE(pair.ends_well());
          EXPECT_TRUE(pair.has_effect(kOps[i]));
        } else {
          EXPECT_EQ(posted.error().errno_value(), EINVAL);
          EXPECT_EQ(pair.cells(), cells);
        }
        EXPECT_EQ(pair.state(), QpState::kRts);
      }
    }
  }
}

TEST(ServiceMatrixTest, S004_02_X_29_the_services_that_create_qp_makes) {
  Mesh mesh(2);
  MeshNode& node = mesh.node(0);
  for (unsigned value = 0; value < kServiceValues; ++value) {
    const auto service = static_cast<Service>(value);
    const bool is_made =
        std::ranges::any_of(kRows, [&](const Row& row) { return row.service == service; });
    const auto made = node.adapter.create_qp(node.init(service), mesh.now());
    EXPECT_EQ(made.has_value(), is_made) << value;
    if (is_made) continue;
    EXPECT_EQ(made.error().errno_value(), EINVAL);
  }
  EXPECT_EQ(node.adapter.qp_count(), kRows.size());
}

TEST(ServiceMatrixTest, S001_54_acknowledged_or_not_and_connected_or_not) {
  const auto kind = [](Service s) { return std::pair(is_connected(s), is_acknowledged(s)); };
  EXPECT_EQ(kind(Service::kRc), std::pair(true, true));
  EXPECT_EQ(kind(Service::kUc), std::pair(true, false));
  EXPECT_EQ(kind(Service::kRd), std::pair(false, true));
  EXPECT_EQ(kind(Service::kUd), std::pair(false, false));
}

}  // namespace splitnic::fabric::testing::service_matrix_test
