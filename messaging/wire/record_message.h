// A message that is the header followed by N >= 1 records of one size. N follows from the length:
// there is no count field, as the surviving layout of BufferPoolFlushRequest shows. The view reads
// records in place, by index, and allocates nothing; it is valid as long as the bytes are from
// which it was parsed.
//
// A record type defines kFunction, kBytes, load(const std::byte*), store(std::byte*) and
// is_legal(): the rules that need nothing but the record; a record that violates them is a `range`
// error. docs/protocol/message.md#records
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

template <typename RecordType>
class RecordMessage {
 public:
  using Record = RecordType;
  static constexpr std::size_t bytes(std::size_t records) {
    return kHeaderBytes + Record::kBytes * records;
  }
  // Returns the number of records that fit a message of `msg_max` bytes.
  static constexpr std::size_t records_max(std::size_t msg_max) {
    return msg_max < kHeaderBytes ? 0 : (msg_max - kHeaderBytes) / Record::kBytes;
  }

  // Checks the header, then the length, then every record; one bad record makes the message bad.
  static Parsed<RecordMessage> parse(base::Bytes message) {
    const auto context = check_header(message, Record::kFunction, bytes(1));
    if (!context) return context.error();
    if ((message.size() - kHeaderBytes) % Record::kBytes != 0) return DropReason::kAlign;
    const RecordMessage view(*context, message.subspan(kHeaderBytes));
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (!view[i].is_legal()) return DropReason::kRange;
    }
    return view;
  }

  // Writes a message and returns its length. REQUIRES 1 <= records.size() <=
  // records_max(out.size()).
  static std::size_t emit(TransactionContext context, std::span<const Record> records,
                          base::MutableBytes out) {
    CHECK(!records.empty() && records.size() <= records_max(out.size()));
    emit_header(Record::kFunction, context, out);
    std::byte* at = out.data() + kHeaderBytes;
    for (const Record& record : records) {
      record.store(at);
      at += Record::kBytes;
    }
    return bytes(records.size());
  }

  TransactionContext context() const { return context_; }
  std::size_t size() const { return records_.size() / Record::kBytes; }
  // REQUIRES i < size().
  Record operator[](std::size_t i) const {
    return Record::load(records_.data() + i * Record::kBytes);
  }

 private:
  RecordMessage(TransactionContext context, base::Bytes records)
      : context_(context), records_(records) {}

  TransactionContext context_;
  base::Bytes records_;
};

// Writes such a message record by record into `out`, for records that are collected from tables.
template <typename Message>
class RecordWriter {
 public:
  explicit RecordWriter(base::MutableBytes out) : out_(out) {}

  bool empty() const { return records_ == 0; }
  bool full() const { return records_ == Message::records_max(out_.size()); }
  // REQUIRES !full().
  void add(const typename Message::Record& record) {
    CHECK(!full());
    record.store(out_.data() + Message::bytes(records_));
    ++records_;
  }
  // Writes the header and returns the length, or 0 if there is no record.
  std::size_t finish(TransactionContext context) {
    if (empty()) return 0;
    emit_header(Message::Record::kFunction, context, out_);
    return Message::bytes(records_);
  }

 private:
  base::MutableBytes out_;
  std::size_t records_ = 0;
};

}  // namespace splitnic::messaging
