#include "fabric_emul/mem/att.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace splitnic::fabric {

Att::Att(AttControl control, std::uint8_t page_log2, std::span<std::byte* const> pages,
         PageSource* source)
    : page_count_(pages.size()), source_(source), page_log2_(page_log2) {
  CHECK(!pages.empty() && is_page_size(page_log2));
  if (control == AttControl::kFirstOrder) {
    CHECK(pages.size() <= kFirstOrderPagesMax);
    first_ = std::make_unique<Leaf>();
  } else {
    CHECK(control == AttControl::kSecondOrder && pages.size() <= kSecondOrderPagesMax);
    directory_ = std::make_unique<Directory>();
    for (std::size_t leaf = 0; leaf * kAttPageEntries < pages.size(); ++leaf) {
      (*directory_)[leaf] = std::make_unique<Leaf>();
    }
  }
  for (std::size_t i = 0; i < pages.size(); ++i) set_page(i, pages[i]);
}

std::byte* Att::page(std::size_t page) const noexcept {
  if (first_) return (*first_)[page];
  return (*(*directory_)[page / kAttPageEntries])[page % kAttPageEntries];
}

void Att::set_page(std::size_t page, std::byte* at) noexcept {
  if (first_) {
    (*first_)[page] = at;
  } else {
    (*(*directory_)[page / kAttPageEntries])[page % kAttPageEntries] = at;
  }
}

Att::Run Att::run_at(std::uint64_t offset, std::uint64_t length) noexcept {
  const std::uint64_t page_bytes = std::uint64_t{1} << page_log2_;
  const std::uint64_t within = offset & (page_bytes - 1);
  std::size_t index = offset >> page_log2_;
  std::byte* at = page(index);
  if (at == nullptr && source_ != nullptr) {
    at = source_->bring_in(index);
    if (at != nullptr) set_page(index, at);
  }
  if (at == nullptr) return {};
  std::uint64_t bytes = std::min(length, page_bytes - within);
  for (const std::byte* next = at + page_bytes; bytes < length; next += page_bytes) {
    if (page(++index) != next) break;
    bytes += std::min(length - bytes, page_bytes);
  }
  return {at + within, bytes};
}

std::size_t Att::att_page_count() const {
  return att_pages_for(first_ ? AttControl::kFirstOrder : AttControl::kSecondOrder, page_count_);
}

Att* AttStore::add(std::unique_ptr<Att> att) {
  Att* const key = att.get();
  CHECK(has_room_for(key->att_page_count()));
  pages_used_ += key->att_page_count();
  slots_.emplace(key, Slot{std::move(att)});
  return key;
}

void AttStore::share(Att* att) { ++slots_.at(att).regions; }

void AttStore::release(Att* att) {
  const auto slot = slots_.find(att);
  CHECK(slot != slots_.end());
  if (--slot->second.regions != 0) return;
  pages_used_ -= att->att_page_count();
  slots_.erase(slot);
}

}  // namespace splitnic::fabric
