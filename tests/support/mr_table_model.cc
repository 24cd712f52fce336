#include "tests/support/mr_table_model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace splitnic::test {

using namespace fabric;

namespace {
constexpr std::array<std::uint8_t, 6> kSizes{12, 13, 16, 20, 24, 28};
constexpr std::uint8_t kRealLog2Max = 16;
// Pages above 64 KiB are addresses only: nothing lies there and nothing is touched.
constexpr std::uint64_t kNowhere = std::uint64_t{1} << 40;
}  // namespace

MrTableModel::MrTableModel()
    : frames_(static_cast<std::byte*>(
                  std::aligned_alloc(kFrameOverheadBytes, kFrames * kFrameOverheadBytes)),
              std::free),
      clean_(kFrames * kFrameOverheadBytes) {
  for (std::size_t i = 0; i < clean_.size(); ++i)
    clean_[i] = static_cast<std::byte>(i * 7 + i / 256);
}

std::string MrTableModel::run(std::span<const std::uint64_t> words) {
  base::SeededRandom random(words.size());
  const bool is_strict = !words.empty() && words[0] % 4 == 3;
  table_.emplace(kEntries, random, false,
                 is_strict ? MrwtProfile::kStrictWindows : MrwtProfile::kRegionsOk);
  entries_.clear();
  handles_.clear();
  live_ = 0;
  wrong_.clear();
  std::memcpy(frames_.get(), clean_.data(), clean_.size());
  shadow_ = clean_;
  for (std::size_t i = 0; i < words.size() && wrong_.empty(); ++i) {
    step(Draw(words[i]));
    expect(table_->live_count() == live_, "live_count");
    if (!wrong_.empty()) return "step " + std::to_string(i) + ": " + wrong_;
  }
  expect(std::memcmp(frames_.get(), shadow_.data(), shadow_.size()) == 0, "memory");
  return wrong_;
}

void MrTableModel::step(Draw draw) {
  const std::uint64_t what = draw.below(16);
  if (entries_.empty() || what == 0) return what % 2 == 0 ? add_span(draw) : add_pages(draw);
  if (what <= 2) return add_pages(draw);
  if (what == 3) return add_shared(draw);
  if (what == 4) return add_iscsi(draw);
  if (what == 5) return bind(draw);
  if (what == 6) return end(draw);
  if (what == 7) return validate(draw);
  if (what == 8) return move_page(draw);
  if (what == 9) return access_iscsi(draw);
  if (what <= 11) return copy(draw, what == 10);
  access(draw);
}

std::uint64_t MrTableModel::any_start(Draw& draw) {
  const std::uint64_t near_end = draw.below(16);
  const std::uint64_t odd = draw.below(5000);
  return near_end == 15 ? ~std::uint64_t{0} - odd : 0x7000'0000 + odd;
}

std::byte* MrTableModel::any_page(Draw& draw, std::uint8_t log2) {
  if (log2 > kRealLog2Max) {
    return reinterpret_cast<std::byte*>(kNowhere + (draw.below(8) << log2));
  }
  const std::size_t frames = std::size_t{1} << (log2 - 12);
  return frames_.get() + draw.below(kFrames - frames + 1) * kFrameOverheadBytes;
}

void MrTableModel::added(const base::Result<MemoryHandle>& handle, bool expected,
                         const Entry& entry, const char* what) {
  expect(handle.has_value() == expected, what);
  if (!handle) return;
  expect(std::ranges::count(handles_, *handle) == 0, "a handle comes twice");
  handles_.push_back(*handle);
  entries_.push_back(entry);
  ++live_;
}

void MrTableModel::add_span(Draw draw) {
  Entry entry;
  entry.pd = any_pd(draw);
  entry.start = any_start(draw);
  entry.rights = any_rights(draw, kAccessRights | kWindowBind);
  entry.first = draw.below(kFrameOverheadBytes);
  entry.length = draw.below(kFrames * kFrameOverheadBytes - entry.first);
  entry.pages = std::make_shared<Pages>();
  for (std::size_t i = 0; i < kFrames; ++i) {
    entry.pages->at.push_back(frames_.get() + i * kFrameOverheadBytes);
  }
  const auto handle =
      table_->regions().register_region(entry.pd, {frames_.get() + entry.first, entry.length},
                                        entry.rights, VirtualAddress(entry.start));
  added(handle, has_room() && entry.length > 0 && entry.rights < 32 && start_fits(entry), entry,
        "register_region");
}

void MrTableModel::add_pages(Draw draw) {
  Entry entry;
  entry.pages = std::make_shared<Pages>();
  Pages& pages = *entry.pages;
  pages.log2 = draw.one_in(64) ? 11 : kSizes[draw.below(draw.one_in(2) ? kSizes.size() : 3)];
  pages.is_real = pages.log2 <= kRealLog2Max;
  const std::uint64_t page_bytes = std::uint64_t{1} << pages.log2;
  entry.pd = any_pd(draw);
  entry.rights = any_rights(draw, kAccessRights | kWindowBind);
  const std::size_t count = 1 + draw.below(5);
  const std::uint64_t attribute = draw.below(8);  // 7: both
  const bool has_source = attribute == 1 || attribute == 7;
  const bool has_word = attribute == 2 || attribute == 7;
  pages.is_on_demand = has_source;
  entry.attribute = has_source ? RegionAttribute::kOnDemand
                    : has_word ? RegionAttribute::kQuiescable
                               : RegionAttribute::kPinned;
  const std::uint64_t form = draw.below(5);
  entry.first = draw.one_in(32) ? page_bytes : draw.below(page_bytes);
  const bool is_consecutive = draw.one_in(2);
  const std::uint8_t page_log2 = std::max<std::uint8_t>(pages.log2, 12);
  bool are_good = true;
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* page = any_page(draw, page_log2);
    pages.home.push_back(page);
    if (is_consecutive && i > 0 && pages.at[i - 1] != nullptr) {
      page = pages.at[i - 1] + page_bytes;
      const auto end =
          reinterpret_cast<std::uintptr_t>(frames_.get()) + kFrames * kFrameOverheadBytes;
      if (pages.is_real && reinterpret_cast<std::uintptr_t>(page) + page_bytes > end) {
        page = pages.home.back();
      }
    }
    if (draw.one_in(16)) page = nullptr;
    if (draw.one_in(256) && page != nullptr) page += 64;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(page) % 4096 == 0;
    are_good = are_good && is_aligned && (page != nullptr || has_source);
    pages.at.push_back(page);
  }
  // All that the pages hold, less up to a page, and sometimes one byte out of that.
  entry.length = count * page_bytes - entry.first - draw.below(page_bytes);
  if (draw.one_in(32)) entry.length += draw.below(3) * page_bytes - page_bytes;
  entry.start = any_start(draw);
  std::optional<AttControl> control;
  if (form < 3) control = static_cast<AttControl>(form);
  bool all_follow = true;
  for (std::size_t i = 1; i < count; ++i) {
    all_follow = all_follow && reinterpret_cast<std::uintptr_t>(pages.at[i]) ==
                                   reinterpret_cast<std::uintptr_t>(pages.at[i - 1]) + page_bytes;
  }
  const base::Wide last = static_cast<base::Wide>(entry.first) + entry.length;
  const bool count_fits = (last + page_bytes - 1) / page_bytes == count;
  const bool expected =
      has_room() && pages.log2 >= 12 && entry.first < page_bytes && entry.length > 0 &&
      count_fits && are_good && attribute != 7 && entry.rights < 32 && start_fits(entry) &&
      (control != AttControl::kDirect || (all_follow && !has_source && !has_word));
  entry.can_move = control != AttControl::kDirect;
  PagedOptions options{VirtualAddress(entry.start), control, has_source ? &pages : nullptr,
                       has_word ? &io_word_ : nullptr};
  added(table_->regions().register_pages(
            entry.pd, {pages.at, pages.log2, entry.first, entry.length}, entry.rights, options),
        expected, entry, "register_pages");
}

void MrTableModel::add_shared(Draw draw) {
  const std::size_t other = any_entry(draw);
  Entry entry = entries_[other];
  entry.pd = any_pd(draw);
  entry.start = any_start(draw);
  entry.rights = any_rights(draw, kAccessRights | kWindowBind);
  entry.is_valid = true;
  const bool expected = has_room() && is_region(other) && entry.rights < 32 && start_fits(entry) &&
                        entry.attribute != RegionAttribute::kQuiescable;
  added(table_->regions().register_shared(entry.pd, handles_[other], entry.rights,
                                          VirtualAddress(entry.start)),
        expected, entry, "register_shared");
}

void MrTableModel::add_iscsi(Draw draw) {
  Entry entry;
  entry.type = EntryType::kIscsiRegion;
  entry.pd = any_pd(draw);
  entry.rights = static_cast<std::uint8_t>(draw.below(8) * 4);
  entry.iscsi_control = static_cast<std::uint8_t>(draw.below(5));
  entry.first = draw.below(kFrameOverheadBytes);
  entry.length = draw.below(3 * kFrameOverheadBytes);
  entry.pages = std::make_shared<Pages>();
  for (std::size_t i = 0; i < kFrames; ++i) {
    entry.pages->at.push_back(frames_.get() + i * kFrameOverheadBytes);
  }
  added(table_->regions().register_iscsi(entry.pd, {frames_.get() + entry.first, entry.length},
                                         entry.rights, entry.iscsi_control),
        has_room() && entry.length > 0 && entry.rights < 16 && entry.iscsi_control > 0 &&
            entry.iscsi_control < 4,
        entry, "register_iscsi");
}

void MrTableModel::bind(Draw draw) {
  Request r = any_request(draw);
  const Entry parent = entries_[r.entry];
  const std::uint8_t rights = any_rights(draw, kAccessRights);
  Entry entry = parent;
  entry.type = EntryType::kWindow;
  entry.parent = r.entry;
  entry.pd = r.pd;
  entry.bound_qp = Qpn(static_cast<std::uint32_t>(draw.below(3)));
  entry.rights = rights;
  entry.start = r.address;
  entry.length = r.length;
  entry.first = parent.first + (r.address - parent.start);
  entry.is_valid = true;
  const base::Wide end = static_cast<base::Wide>(r.address) + r.length;
  const bool expected = has_room() && is_region(r.entry) && parent.is_valid && parent.pd == r.pd &&
                        r.length > 0 && r.address >= parent.start &&
                        end <= static_cast<base::Wide>(parent.start) + parent.length &&
                        (parent.rights & kWindowBind) != 0 && rights < 16;
  added(table_->windows().bind_window(r.pd, handles_[r.entry], VirtualAddress(r.address), r.length,
                                      rights, entry.bound_qp),
        expected, entry, "bind_window");
}

void MrTableModel::end(Draw draw) {
  const std::size_t index = any_entry(draw);
  const Entry& entry = entries_[index];
  const bool is_window = entry.type == EntryType::kWindow;
  const bool has_windows = std::ranges::any_of(entries_, [&](const Entry& other) {
    return other.is_live && other.type == EntryType::kWindow && other.parent == index;
  });
  const bool unbinds = draw.one_in(4) ? !is_window : is_window;
  const base::Status ended = unbinds ? table_->windows().unbind(handles_[index])
                                     : table_->regions().deregister(handles_[index]);
  expect(ended.has_value() == (entry.is_live && unbinds == is_window && !has_windows), "end");
  if (!ended) return;
  entries_[index].is_live = false;
  --live_;
}

void MrTableModel::validate(Draw draw) {
  const std::size_t index = any_entry(draw);
  const bool is_valid = !draw.one_in(3);
  expect(table_->set_valid(handles_[index], is_valid).has_value() == entries_[index].is_live,
         "set_valid");
  entries_[index].is_valid = is_valid;
}

void MrTableModel::move_page(Draw draw) {
  const std::size_t index = any_entry(draw);
  const Entry& entry = entries_[index];
  Pages& pages = *entry.pages;
  pages.is_dry = draw.one_in(4);
  const std::size_t page = draw.below(6);
  std::byte* const at =
      draw.one_in(2) ? nullptr : any_page(draw, std::max<std::uint8_t>(pages.log2, 12));
  const bool moves = entry.attribute == RegionAttribute::kOnDemand ||
                     (entry.attribute == RegionAttribute::kQuiescable && !entry.is_valid);
  const bool expected = is_region(index) && entry.can_move && moves && page < pages.at.size();
  expect(table_->regions().set_page(handles_[index], page, at).has_value() == expected, "set_page");
  if (expected) pages.at[page] = at;
}

// Mostly near the entry; sometimes far off, sometimes so long that the sum wraps.
MrTableModel::Request MrTableModel::any_request(Draw& draw) {
  Request r{};
  r.entry = any_entry(draw);
  const Entry& entry = entries_[r.entry];
  r.pd = any_pd(draw);
  r.qp = Qpn(static_cast<std::uint32_t>(draw.below(3)));
  const std::uint64_t kind = draw.below(16);
  r.address = entry.start + draw.below(entry.length + 3) - (kind == 0 ? 1 : 0);
  const std::uint64_t left = entry.start + entry.length - r.address;
  r.length = kind < 8    ? draw.below(200)
             : kind < 14 ? draw.below(left < 2 * entry.length ? left + 2 : 1000)
                         : ~std::uint64_t{0} - draw.below(5000);
  return r;
}

char MrTableModel::letter(const Request& r, AccessKind kind) const {
  const Entry& e = entries_[r.entry];
  const bool is_window = e.type == EntryType::kWindow;
  const bool remote = kind == AccessKind::kRemoteRead || kind == AccessKind::kRemoteWrite;
  if (!e.is_valid || (is_window && !entries_[e.parent].is_valid)) return 'a';
  if (e.type == EntryType::kIscsiRegion || (is_window && !remote)) return 'b';
  const bool is_strict = table_->profile() == MrwtProfile::kStrictWindows;
  if (!is_window && remote && is_strict) return 'b';
  if (e.pd != r.pd || (e.bound_qp != Qpn{} && e.bound_qp != r.qp)) return 'c';
  const base::Wide end = static_cast<base::Wide>(r.address) + r.length;
  if (r.address < e.start || end > static_cast<base::Wide>(e.start) + e.length) return 'e';
  const std::array needed{kLocalRead, kLocalWrite, kRemoteRead, kRemoteWrite};
  return (e.rights & needed[static_cast<std::size_t>(kind)]) == 0 ? 'f' : '-';
}

std::byte* MrTableModel::where(const Entry& entry, std::uint64_t offset) const {
  const Pages& pages = *entry.pages;
  const std::uint64_t at = entry.first + offset;
  std::byte* const page = pages.at[at >> pages.log2];
  return page == nullptr ? nullptr : page + at % (std::uint64_t{1} << pages.log2);
}

bool MrTableModel::touch(const Entry& entry, std::uint64_t offset) {
  if (where(entry, offset) != nullptr) return true;
  Pages& pages = *entry.pages;
  const std::size_t page = (entry.first + offset) >> pages.log2;
  if (!pages.is_on_demand || pages.is_dry) return false;
  pages.at[page] = pages.home[page];
  return true;
}

// The run is as the model's bytes lie, and as long as they follow each other.
void MrTableModel::compare_run(const Entry& entry, std::uint64_t offset, std::uint64_t length,
                               const AccessResult& got) {
  ++passed_;
  if (length == 0) return;
  expect(got.at == where(entry, offset), "the first byte");
  expect(got.run > 0 && got.run <= length, "the run");
  if (!wrong_.empty()) return;
  const std::uint64_t page_bytes = std::uint64_t{1} << entry.pages->log2;
  expect(where(entry, offset + got.run - 1) == got.at + got.run - 1, "the last byte");
  for (std::uint64_t i = page_bytes - (entry.first + offset) % page_bytes; i < got.run;
       i += page_bytes) {
    expect(where(entry, offset + i) == got.at + i, "a page");
    expect(where(entry, offset + i - 1) == got.at + i - 1, "the end of a page");
  }
  if (got.run < length) expect(where(entry, offset + got.run) != got.at + got.run, "a short run");
}

void MrTableModel::access(Draw draw) {
  const Request r = any_request(draw);
  const auto kind = static_cast<AccessKind>(draw.below(kAccessKinds));
  const AccessResult got =
      table_->access(handles_[r.entry], VirtualAddress(r.address), r.length, kind, r.pd, r.qp);
  const Entry& entry = entries_[r.entry];
  if (!entry.is_live) return expect(!got.ok(), "an ended entry serves");
  char expected = letter(r, kind);
  const std::uint64_t offset = r.address - entry.start;
  if (expected == '-' && r.length > 0 && !touch(entry, offset)) expected = 'a';
  expect((got.ok() ? '-' : static_cast<char>(got.failed)) == expected, "the letter of an access");
  if (got.ok() && wrong_.empty()) compare_run(entry, offset, r.length, got);
}

void MrTableModel::access_iscsi(Draw draw) {
  const Request r = any_request(draw);
  const bool is_r2t = draw.one_in(2);
  const std::uint64_t offset = r.address - entries_[r.entry].start;
  const AccessResult got =
      table_->access_iscsi(handles_[r.entry], offset, r.length,
                           is_r2t ? IscsiTransfer::kR2t : IscsiTransfer::kDataIn, r.pd);
  const Entry& e = entries_[r.entry];
  if (!e.is_live) return expect(!got.ok(), "an ended iSCSI entry serves");
  const base::Wide end = static_cast<base::Wide>(offset) + r.length;
  const char expected = !e.is_valid                                                      ? 'a'
                        : e.type != EntryType::kIscsiRegion                              ? 'b'
                        : e.pd != r.pd                                                   ? 'c'
                        : end > e.length                                                 ? 'e'
                        : (e.rights & (is_r2t ? kRemoteRead : kRemoteWrite)) == 0        ? 'f'
                        : (e.iscsi_control & (is_r2t ? kDeviceWrite : kDeviceRead)) == 0 ? 'g'
                                                                                         : '-';
  expect((got.ok() ? '-' : static_cast<char>(got.failed)) == expected, "the letter of iSCSI");
  if (got.ok() && wrong_.empty()) compare_run(e, offset, r.length, got);
}

void MrTableModel::copy(Draw draw, bool writes) {
  const Request r = any_request(draw);
  const Entry& entry = entries_[r.entry];
  if (!entry.pages->is_real || r.length > shadow_.size()) return;
  const AccessKind kind = writes ? AccessKind::kRemoteWrite : AccessKind::kRemoteRead;
  std::vector<std::byte> bytes(r.length);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 13 + 5);
  const VirtualAddress address(r.address);
  const PlacementResult got =
      writes ? write_remote(*table_, r.pd, r.qp, handles_[r.entry], address, bytes)
             : read_remote(*table_, r.pd, r.qp, handles_[r.entry], address, bytes);
  if (!entry.is_live) return expect(!got.ok(), "an ended entry is copied");
  char expected = letter(r, kind);
  // All pages come in before the first byte moves.
  const std::uint64_t begin = r.address - entry.start;
  for (std::uint64_t i = 0; expected == '-' && i < r.length; ++i) {
    if (!touch(entry, begin + i)) expected = 'a';
  }
  for (std::uint64_t i = 0; expected == '-' && i < r.length; ++i) {
    std::byte& byte = shadow_[static_cast<std::size_t>(where(entry, begin + i) - frames_.get())];
    if (writes) {
      byte = static_cast<std::byte>(i * 13 + 5);
    } else {
      expect(bytes[i] == byte, "a byte that was read");
    }
  }
  expect((got.ok() ? '-' : static_cast<char>(got.failed)) == expected, "the letter of a copy");
}

}  // namespace splitnic::test
