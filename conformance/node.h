// Nodes and a neighbouring switch that the suite plays at the ports of a switch. Each begins its
// link as a host does, and takes cells as they come, to compare them byte for byte.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/host.h"

namespace splitnic::conformance {

class Node final : public Host {
 public:
  using Host::Host;

  // A cell from this node to this LID: a SEND with a payload that follows from `number`.
  ByteVector cell_to(fabric::Lid to, std::size_t payload_bytes, unsigned number) const;
  // The same with another head.
  static ByteVector cell_with(const fabric::CellHead& head, std::size_t payload_bytes,
                              unsigned number);
  fabric::CellHead head_to(fabric::Lid to) const;

  // The next cell that came from another port.
  std::optional<ByteVector> await_cell(std::string_view expected);
  // The next cell has these bytes.
  bool expect_cell(const ByteVector& sent, std::string_view expected);
  // Returns the number of cells that wait.
  std::size_t cells() const { return cells_.size(); }
  void forget_cells() { cells_.clear(); }

  // MGMT to the switch; its reply.
  std::optional<fabric::Mgmt> ask(fabric::MgmtKind kind, std::string_view private_data,
                                  std::string_view expected);
  fabric::Mgmt question(fabric::MgmtKind kind, std::string_view private_data);

  // Subnet management. From now on what arrives for QP 2 is checked for the rules of each cell with
  // an SMP, and its payload is handed over.
  void set_on_smp(std::function<void(base::Bytes smp)> on_smp) { on_smp_ = std::move(on_smp); }
  // The head of a cell with an SMP for the switch.
  fabric::CellHead smp_head() const;
  void send_smp(const fabric::CellHead& head, base::Bytes smp);

 private:
  bool takes_whole(const fabric::FlitHeader& flit, base::Bytes cell) override;
  bool take_smp(const fabric::FlitHeader& flit, base::Bytes cell);

  std::function<void(base::Bytes smp)> on_smp_;
  std::deque<ByteVector> cells_;
};

// The nodes of a case, by the number of their port: from 1.
class Nodes {
 public:
  explicit Nodes(std::vector<Node*> all) : all_(std::move(all)) {}

  Node& at(std::size_t port) { return *all_.at(port - 1); }
  std::size_t count() const { return all_.size(); }
  // The links of all nodes.
  bool link();
  // A cell of the first port arrives at the second one as it was sent, and nothing before it.
  bool expect_forwarded(std::size_t from, std::size_t to, std::string_view expected);

 private:
  std::vector<Node*> all_;
  unsigned number_ = 0;
};

}  // namespace splitnic::conformance
