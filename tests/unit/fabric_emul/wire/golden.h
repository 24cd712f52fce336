// The golden bytes of docs/protocol, and the two conversions that tests of formats need. They were
// worked out apart from the code under test.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/endian.h"

namespace splitnic::fabric::golden {

using Bytes = std::vector<std::byte>;

// "10c2cb05 00020001" -> bytes. Exactly sized, so that a sanitizer sees a read past the end.
inline Bytes bytes_of(std::string_view hex) {
  Bytes out;
  unsigned value = 0;
  unsigned digits = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) {
      out.push_back(static_cast<std::byte>(value));
      value = 0;
    }
  }
  return out;
}

inline std::string hex_of(base::Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0 && i % 4 == 0) out += ' ';
    out += kDigits[std::to_integer<unsigned>(bytes[i]) >> 4];
    out += kDigits[std::to_integer<unsigned>(bytes[i]) & 0xF];
  }
  return out;
}

// Makes the last word the CRC of what is before it (cells).
inline Bytes reseal(Bytes cell) {
  const std::size_t at = cell.size() - 4;
  base::store_be(cell.data() + at, base::crc32c(base::Bytes(cell).first(at)));
  return cell;
}

inline constexpr std::string_view kWriteOnly =  // 64 bytes
    "10c2cb05 00020001 00000011 00000010 00000100 00000005 80010000 00007f00 "
    "12342800 00002a01 00000005 07050005 68656c6c 6f000000 ace2a099 818c224e";
inline constexpr std::string_view kAck =  // 44 bytes
    "10d00003 00010002 00000010 00000011 00000100 00000000 80010000 00000001 "
    "00400000 00000000 9552447f";
inline constexpr std::string_view kStreamAck =  // 44 bytes
    "10d00003 00010002 50000010 00000011 00000100 00000000 80010000 00005040 "
    "00000001 00400000 0edc7207";
inline constexpr std::string_view kDataFlitFull =  // 16 bytes
    "00c0002c 00090029 00000140 cad68b6d";
inline constexpr std::string_view kDataFlitSpeed =  // 16 bytes
    "00e0002c 00000000 00000000 88195d6a";
inline constexpr std::string_view kWriteFirst =  // 56 bytes
    "10820004 00020001 00000011 00000010 00ffffff 00000008 8001ffff 00007f00 "
    "12342800 00002a01 00000013 61626364 65666768 8ff08ff0";
inline constexpr std::string_view kWriteMiddle =  // 40 bytes
    "10020000 00020001 00000011 00000010 00ffffff 00010008 80010000 696a6b6c "
    "6d6e6f70 02f18bdf";
inline constexpr std::string_view kWriteLast =  // 44 bytes
    "1042c901 00020001 00000011 00000010 00ffffff 00020003 80010001 07050013 "
    "71727300 44a3cd4e 6ea0987a";
inline constexpr std::string_view kAckBitmap =  // 52 bytes
    "10d00005 00010002 00000010 00000011 00ffffff 00000000 80010000 00ffffff "
    "003f0000 ffff0202 90000000 80000000 01af5973";
inline constexpr std::string_view kRnrNak =  // 44 bytes
    "10d10003 00010002 00000010 00000011 00000102 00000000 80010000 20000102 "
    "00000064 00050000 c2862926";
inline constexpr std::string_view kTerminate =  // 84 bytes
    "10d20001 00010002 50000010 00000011 00000000 00000030 80010000 00005000 "
    "01016500 00002a01 00007f00 12342800 0000012c 10c2cb05 00020001 00000011 "
    "00000010 00000100 00000005 80010000 2fb64580";
inline constexpr std::string_view kInitHelloFlit =  // 88 bytes
    "4f000048 00000000 00000000 9e0630c3 01010100 00010000 800f0554 058c0000 "
    "00000000 00400000 02000000 00000001 11112222 33334444 00000000 00000000 "
    "a1a2a3a4 a5a6a7a8 00000000 00000000 00010000 00000000";
inline constexpr std::string_view kInitReadyFlit =  // 88 bytes
    "4f000048 00000000 00000000 c0a2b953 01040100 00010000 800f0554 058c0000 "
    "00000000 00400000 02000000 00000002 55556666 77778888 11112222 33334444 "
    "00000000 00000000 a1a2a3a4 a5a6a7a8 00020001 00000000";
inline constexpr std::string_view kInitProofFlit =  // 88 bytes
    "4f000048 00000000 00000000 02fab4e9 01030100 00010000 800f0554 058c0000 "
    "02110e5c 00400000 02000000 00000001 11112222 33334444 55556666 77778888 "
    "b1b2b3b4 b5b6b7b8 c1c2c3c4 c5c6c7c8 00010000 c2d09019";
inline constexpr std::string_view kCreditFlit =  // 16 bytes
    "30000000 00000029 20000140 63389d42";
inline constexpr std::string_view kIdleFlitSpeed =  // 16 bytes
    "5f200000 00000000 00000000 f5f88c31";
inline constexpr std::string_view kIdleFlitFull =  // 16 bytes
    "5f000000 00000029 10000080 c395adcc";
inline constexpr std::string_view kLackFlit =  // 16 bytes
    "10000000 00000029 00000140 864e39ef";
inline constexpr std::string_view kLnakFlit =  // 16 bytes
    "20000000 00000029 00000140 ad3451da";
inline constexpr std::string_view kConnectReq =  // 148 bytes
    "10d80200 00020001 f0000000 00000000 00000000 00000072 ffff0000 01010200 "
    "00000002 11223344 55667788 02000000 00000001 11112222 33334444 02000000 "
    "00000002 55556666 77778888 00000000 00000010 00000000 00000100 00200554 "
    "00400000 00010000 00000000 01000001 00000012 00000000 00ffffff ffff0554 "
    "01000000 00100000 00000000 08010000 83e8e405";
inline constexpr std::string_view kConnectRep =  // 148 bytes
    "10d80200 00010002 f0000000 00000000 00000000 00000072 ffff0000 01020200 "
    "00000002 11223344 55667788 02000000 00000002 55556666 77778888 02000000 "
    "00000001 11112222 33334444 00000000 00000011 00000010 00000200 00400554 "
    "00400000 00010000 00000000 01000001 00000013 00000012 00000300 00600554 "
    "01000000 00100000 00000000 08010000 5d3ee5ea";
inline constexpr std::string_view kConnectRtu =  // 144 bytes
    "10d80000 00020001 f0000000 00000000 00000000 00000070 ffff0000 01030200 "
    "00000000 11223344 55667788 02000000 00000001 11112222 33334444 02000000 "
    "00000002 55556666 77778888 00000000 00000010 00000011 00000100 00200554 "
    "00400000 00010000 00000000 01000001 00000012 00000013 00ffffff ffff0554 "
    "01000000 00100000 00000000 7d0b8aee";
inline constexpr std::string_view kConnectRej =  // 84 bytes
    "10d80000 00010002 f0000000 00000000 00000000 00000034 ffff0000 01040000 "
    "00040004 11223344 55667788 02000000 00000002 55556666 77778888 02000000 "
    "00000001 11112222 33334444 66756c6c 736691ab";
inline constexpr std::string_view kDisc =  // 112 bytes
    "10d80000 00020001 f0000000 00000000 00000000 00000050 ffff0000 01050100 "
    "00000000 11223344 55667788 02000000 00000001 11112222 33334444 02000000 "
    "00000002 55556666 77778888 01000001 00000012 00000013 00ffffff ffff0554 "
    "01000000 00100000 00000007 cbf379c9";
inline constexpr std::string_view kDiscRep =  // 112 bytes
    "10d80000 00010002 f0000000 00000000 00000000 00000050 ffff0000 01060100 "
    "00000000 11223344 55667788 02000000 00000002 55556666 77778888 02000000 "
    "00000001 11112222 33334444 01000001 00000013 00000012 00000300 00600554 "
    "01000000 00100000 00000009 47add266";
inline constexpr std::string_view kDatagram =  // 100 bytes
    "00e0002c 00000000 00000000 88195d6a 10d00003 00010002 00000010 00000011 "
    "00000100 00000000 80010000 00000001 00400000 00000000 9552447f 5f200000 "
    "00000000 00000000 f5f88c31 00000000 00000000 00000000 00000000 00000000 "
    "00000000";
inline constexpr std::string_view kStreamReadReq =  // 68 bytes
    "10c30009 00020001 50000011 00000010 00000005 00000000 80010000 00007000 "
    "00007f00 12342800 00002a01 00000013 00000003 00002b02 00000000 00000040 "
    "93fe093d";
inline constexpr std::string_view kFetchOpReq =  // 68 bytes
    "10c50009 00020001 00000011 00000010 00000005 00000000 80010007 00007f00 "
    "12342800 00002a01 00000008 02000000 00000000 00000001 00000000 00000000 "
    "1aedefaa";
inline constexpr std::string_view kSendDereg =  // 40 bytes
    "10c12201 00020001 00000011 00000010 00000006 00000002 80010007 00002c03 "
    "68690000 46ef6b1f";
inline constexpr std::string_view kUdGlobal =  // 76 bytes
    "10c0100a 00020001 30000011 00000010 00000006 00000004 80010000 60000000 "
    "00081140 00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617 18191a1b "
    "1c1d1e1f 70696e67 8cd1347f";
inline constexpr std::string_view kRdSend =  // 40 bytes
    "10c00001 00020001 20000011 00000010 00000006 00000004 80010009 00123456 "
    "70696e67 02aa0d86";
inline constexpr std::string_view kShmSend =  // 36 bytes
    "10c00000 00020001 00000011 00000010 00ffffff 00000004 80010000 70696e67 "
    "a53c78ec";

inline constexpr std::string_view kCells[] = {
    kWriteOnly,     kWriteFirst, kWriteMiddle, kWriteLast,  kAck,        kAckBitmap, kRnrNak,
    kTerminate,     kConnectReq, kConnectRep,  kConnectRtu, kConnectRej, kDisc,      kDiscRep,
    kStreamReadReq, kFetchOpReq, kSendDereg,   kUdGlobal,   kRdSend};
inline constexpr std::string_view kFlits[] = {kInitHelloFlit, kInitReadyFlit, kInitProofFlit,
                                              kCreditFlit,    kIdleFlitSpeed, kIdleFlitFull,
                                              kLackFlit,      kLnakFlit};

}  // namespace splitnic::fabric::golden
