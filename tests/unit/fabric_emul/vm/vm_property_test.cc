// Random lives of processes against a plain model that has neither segments nor pages: which byte
// of which memory an effective address means. Every access goes through the memory table, as that
// of a remote node does, with both forms of the page table.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <sstream>

#include "tests/support/vm_harness.h"

namespace splitnic::fabric::testing::vm_property_test {

constexpr int kCases = 10'000;
constexpr std::uint64_t kPagesMax = 3;

// The model of memory: its bytes, which pages were mapped, who may write.
struct Content {
  std::vector<std::byte> bytes;
  std::vector<bool> mapped;
  bool is_writable = true;
};

class Life {
 public:
  explicit Life(PageTableForm form) : node_(adapter_, clock_, form) {
    process_ = node_.process();
    key_ = node_.key(process_);
    pd_ = node_.domain(process_);
    node_.driver.set_default_error_handler([this](const UnmappedAccess&) { ++errors_; });
    add(kPagesMax);
    for (std::uint64_t page = 0; page < kPagesMax; ++page) map(0, page);
  }
  // Empty: real and model agree.
  std::string step(std::uint64_t word) {
    const auto draw = [&](std::uint64_t below) {
      word = word * 6364136223846793005ULL + 1442695040888963407ULL;
      return (word >> 33) % below;
    };
    switch (draw(8)) {
      case 0:
        add(1 + draw(kPagesMax));
        break;
      case 1:
        if (!spaces_.empty()) change(draw(spaces_.size()), draw(4), 1 + draw(kPagesMax));
        break;
      case 2:
      case 3:
        if (!spaces_.empty()) map(draw(spaces_.size()), draw(kPagesMax));
        break;
      case 4:
        if (!spaces_.empty()) take_out(draw(spaces_.size()), draw(kPagesMax));
        break;
      default:
        return access(draw(spaces_.size() + 1), draw(2 * kVmPageBytes + 100),
                      1 + draw(kVmPageBytes + 100), draw(2) == 0);
    }
    return {};
  }
  std::uint64_t passed = 0;

 private:
  using Spaces = std::map<std::uint64_t, std::shared_ptr<Content>>;
  Spaces::iterator nth(std::size_t n) {
    return std::next(spaces_.begin(), static_cast<std::ptrdiff_t>(n));
  }

  void add(std::uint64_t pages) {
    if (spaces_.size() == 5) return;
    const EffectiveAddress at = node_.memory(process_, pages, 0, ++seed_);
    auto content = std::make_shared<Content>();
    content->bytes = VmNode::pattern_of(seed_, pages * kVmPageBytes);
    content->mapped.resize(pages);
    spaces_[at.value] = content;
  }
  void change(std::size_t n, std::uint64_t how, std::uint64_t pages) {
    const auto space = nth(n);
    const EffectiveAddress at(space->first);
    Content& content = *space->second;
    if (how == 0) {
      RC_ASSERT(node_.vmm.remove_segment(process_, at).has_value());
      spaces_.erase(space);
    } else if (how == 1) {
      RC_ASSERT(node_.vmm.resize_segment(process_, at, pages).has_value());
      content.bytes.resize(pages * kVmPageBytes);
      content.mapped.resize(pages);
    } else if (how == 2) {
      const auto like = nth(pages % spaces_.size());
      RC_ASSERT(node_.vmm.remap_segment(process_, at, EffectiveAddress(like->first)).has_value());
      space->second = like->second;
    } else {
      content.is_writable = !content.is_writable;
      const std::uint8_t protection =
          static_cast<std::uint8_t>(kPageRead | (content.is_writable ? kPageWrite : 0));
      RC_ASSERT(node_.vmm.protect_segment(process_, at, protection).has_value());
    }
  }
  void map(std::size_t n, std::uint64_t page) {
    const auto space = nth(n);
    const EffectiveAddress at(space->first + page * kVmPageBytes);
    const bool is_there = page < space->second->mapped.size();
    RC_ASSERT(node_.driver.map_local_page(process_, at).has_value() == is_there);
    if (is_there) space->second->mapped[page] = true;
  }
  void take_out(std::size_t n, std::uint64_t page) {
    const EffectiveAddress at(nth(n)->first + page * kVmPageBytes);
    const auto where = node_.vmm.to_virtual(process_, at);
    if (where) static_cast<void>(node_.vmm.take_out(page_of(*where)));
  }

  // Segment n, or one that there is not.
  std::string access(std::size_t n, std::uint64_t offset, std::uint64_t length, bool writes) {
    const bool is_known = n < spaces_.size();
    const std::uint64_t base = is_known ? nth(n)->first : 0x900000'0000000'000ULL;
    Content* const content = is_known ? nth(n)->second.get() : nullptr;
    const EffectiveAddress at(base + offset);
    const bool is_inside = content != nullptr && offset <= content->bytes.size() &&
                           length <= content->bytes.size() - offset;
    const bool may_bind = is_inside && (!writes || content->is_writable);
    const auto bound =
        node_.driver.bind_rkey(process_, key_, {at, length, writes ? kRemoteWrite : kRemoteRead});
    if (bound.has_value() != may_bind) return "bind";
    if (!may_bind) return {};

    bool is_mapped = true;
    for (std::uint64_t i = offset / kVmPageBytes; i <= (offset + length - 1) / kVmPageBytes; ++i) {
      is_mapped = is_mapped && content->mapped[i];
    }
    const std::uint64_t errors_before = errors_;
    const std::string wrong = copy(at, offset, length, writes, is_mapped, *content);
    if (!wrong.empty()) return wrong;
    if ((errors_ != errors_before) == is_mapped) return "error handler";
    return {};
  }
  std::string copy(EffectiveAddress at, std::uint64_t offset, std::uint64_t length, bool writes,
                   bool is_mapped, Content& content) {
    const VirtualAddress wire(at.value);
    const auto expected = content.bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    std::vector<std::byte> bytes(length);
    Mrwt& table = adapter_.memory();
    if (writes) {
      bytes = VmNode::pattern_of(++seed_, length);
      if (write_remote(table, pd_, Qpn(1), key_, wire, bytes).ok() != is_mapped) return "write";
      if (is_mapped) std::ranges::copy(bytes, expected);
    } else {
      if (read_remote(table, pd_, Qpn(1), key_, wire, bytes).ok() != is_mapped) return "read";
      if (is_mapped && !std::equal(bytes.begin(), bytes.end(), expected)) return "what was read";
    }
    if (is_mapped) ++passed;
    if (!std::equal(bytes.begin(), bytes.end(), expected) && is_mapped) return "bytes";
    if (node_.load(process_, at, length) !=
        std::vector(expected, expected + static_cast<std::ptrdiff_t>(length))) {
      return "what the process sees";
    }
    return {};
  }

  base::SeededRandom random_{7};
  base::ManualClock clock_;
  Adapter adapter_{{.qps = 4, .memory_entries = 16}, random_};
  VmNode node_;
  ProcessId process_;
  MemoryHandle key_;
  PdId pd_;
  Spaces spaces_;
  std::size_t seed_ = 0;
  std::uint64_t errors_ = 0;
};

class VmProperty : public ::testing::TestWithParam<PageTableForm> {};

TEST_P(VmProperty, S000_26_addresses_mean_what_they_mean_in_the_model) {
  rc::detail::TestParams params;
  params.seed = 2600;
  params.maxSize = 40;
  params.maxSuccess = kCases;
  const auto words = rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  std::uint64_t passed = 0;
  const auto result = rc::detail::checkTestable(
      [&] {
        Life life(GetParam());
        for (const std::uint64_t word : *words) {
          const std::string wrong = life.step(word);
          if (!wrong.empty()) RC_FAIL(wrong);
        }
        passed += life.passed;
      },
      rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
  EXPECT_GT(passed, static_cast<std::uint64_t>(kCases) / 4) << "both outcomes";
}

INSTANTIATE_TEST_SUITE_P(S000_30, VmProperty, ::testing::ValuesIn(kForms), FormName{});

}  // namespace splitnic::fabric::testing::vm_property_test
