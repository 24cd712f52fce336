// The words that this project does not use, and what it writes instead: docs/STYLE.md ("English")
// and the right-hand column of docs/GLOSSARY.md. word_rules.h applies the table.
//
// A phrase is a list of words with one space between them. A word is a list of alternatives with
// `|` between them; `x*` stands for every word that begins with x, and `*` for any word. Case does
// not matter. In code, a phrase is compared with the words of one identifier: `kTxFramesASecond`
// is "tx frames a second".
#pragma once

#include <array>
#include <string_view>

namespace splitnic::tidy {

enum WordPlace : unsigned {
  kProse = 1,         // comments, string literals, documents
  kCode = 2,          // identifiers of sources and scripts
  kWholeName = 4,     // with kCode: the phrase is the whole identifier
  kNotWirePages = 8,  // docs/protocol may use it
  kNotTests = 16,     // tests may use it
  kTestsOnly = 32,    // only tests may not, without those of benches
};

struct WordRule {
  std::string_view phrase;
  std::string_view instead;
  unsigned where = kProse;
  std::string_view allowed = {};  // longer phrases, separated by "; ", that are fine
};

// What is counted, and per what: "10 frames a second", "one call a batch".
inline constexpr std::string_view kPerUnit =
    "bits|bytes|octets|gbit|mbit|kbit|gb|mb|kb|kib|mib|us|ns|ms|once|twice|times|frames|messages|"
    "cells|packets|datagrams|flits|requests|replies|rounds|hosts|queues|threads|counters|elements|"
    "rows|lines|kills|pieces|answers|seeds|minutes|hours|switches|copies|completions|one|two "
    "a|an second|minute|turn|frame|cell|pool|batch|file|folder|function|call|host|packet|message|"
    "element|queue|pair|flow|row|round|run|loop|stage|line|letter|direction|datagram|flit|link|"
    "lane|"
    "side|test|node|region|page|window|port|nic|process|core|write|piece|step|technique|week";
inline constexpr std::string_view kOnePerUnit =
    "one * a|an second|minute|turn|frame|cell|pool|batch|file|folder|function|call|host|packet|"
    "message|element|queue|pair|flow|row|round|run|loop|stage|line|letter|direction|datagram|flit|"
    "link|lane|side|test|node|region|page|window|port|nic|process|core|write|piece|step|technique";
inline constexpr std::string_view kNotPerUnit =
    "one of|within|in|for|to|is|has|gets|with|by|at|on|per|as|from|behind|that|which|and|or|was; "
    "queues|copies|lines|pieces|requests a|an; two a|an";

inline constexpr auto kWordList = std::to_array<WordRule>({
    // Idioms.
    {"anew", "re-create, restart, reconnect, or nothing", kProse | kCode},
    {"go|goes|going|went|gone on", "continues", kProse, "on lane|the|a|its|each|that|behind"},
    {"under way", "in flight, in progress", kProse | kCode},
    {"by itself|themselves", "automatically, separately, on its own", kProse},
    {"of its|their|our|your|my own", "its own ...", kProse},
    {"of ours", "our ...", kProse},
    {"there and back", "round trip", kProse},
    {"for ever", "indefinitely", kProse},
    {"so many|much", "N, this many", kProse, "so many|much that; so many|much more"},
    {"beside", "next to; compared with", kProse},
    {"at the most|least", "at most, at least", kProse, "at the most|least significant|recent*"},
    {"the least", "the minimum, the smallest", kProse, "the least significant|recent*"},
    {"least length", "minimum length", kProse},
    {"nobody's", "a sentence with a subject", kProse},
    {"without a word", "silently", kProse},
    {"such word|words", "does not need the option", kProse},
    {"no part of", "is not part of", kProse},
    {"kept|keep|keeps out", "blocked, refused", kProse},
    {"let|lets in", "accepted, admitted", kProse, "in on|the"},
    {"by turns", "in round robin", kProse},
    {"further queue*|pair*|channel*|host*|connection*|one|ones", "additional", kProse},
    {"cold reading", "review by a fresh reader", kProse},
    {"is|are|was|were looked for", "trying ADDRESS; searched for, looked up", kProse},
    {"there again", "is back", kProse},
    {kPerUnit, "per second, per frame, ...", kProse, kNotPerUnit},
    {kOnePerUnit, "one per frame, ...", kProse, kNotPerUnit},
    {"a second|turn|minute|frame|host|pool|message|batch", "PerSecond, PerFrame, ...",
     kCode | kNotTests},
    {"a|an|the|each|one|this|next|its|every|whose|per|last|that|same|their|whole|own|other|no|"
     "another turn",
     "iteration (of a loop); round, quantum, deficit (of fair queueing)", kProse},
    {"turns", "iterations, rounds", kProse, "turns into|out|off|on|it|them|a|the"},
    {"turn|turns", "iteration, step, round", kCode},
    {"figure|figures", "result, number, value", kProse},
    // Verbs of people, used of programs.
    {"judg*", "checks, validates", kProse | kCode},
    {"believ*|belief*", "validates, accepts, trusts", kProse | kCode},
    {"heed*", "obeys, honours", kProse | kCode},
    {"owe|owes|owed|owing", "pending, due", kProse | kCode},
    {"say|says|said|saying", "reports, specifies, returns", kProse | kCode},
    {"tell|tells|told|telling", "reports, notifies, indicates", kProse | kCode},
    {"wish|wishes|wished|wishing", "request; buffer request", kProse | kCode},
    // Standard names.
    {"octet*", "bytes", kProse | kCode | kNotWirePages},
    {"answer*|unanswered", "response, reply; responds, replies", kProse | kCode},
    {"sent|send|sends|sending|tx again", "retransmitted, retransmit", kProse | kCode},
    {"reads taken|asked", "max_dest_rd_atomic, max_rd_atomic", kProse | kCode},
    {"did", "made_progress", kCode | kWholeName},
    {"moved", "bytes_processed", kCode | kWholeName | kNotTests},
    {"lower|lowered|lowerer|lowering", "software GSO, segment_in_software", kCode,
     "lower bound|up|half|case"},
    {"lent|loan*", "claimed; claim, commit, abort", kProse | kCode},
    {"lend*", "claim", kCode},
    {"give|gives|gave|given|giving back", "abort, release, return", kProse | kCode},
    {"greeting*", "handshake", kProse | kCode},
    {"pace", "IdleStrategy", kCode},
    {"bench", "fixture, harness", kCode | kTestsOnly},
    {"host session|sessions", "AttachedHost", kProse | kCode},
    {"pair group", "Connection", kProse | kCode},
    {"tap underlay", "RecordingUnderlay", kCode},
    // The right-hand column of the glossary.
    {"correlation id|ids", "Transaction Context", kProse | kCode},
    {"pin down cache", "registration cache", kProse | kCode},
    {"sanity check*", "checks a to g", kProse | kCode},
    {"event queue*", "completion queue", kProse | kCode},
    {"node id|ids", "LID, GUID, EUI-64", kProse | kCode},
    {"seqno*|seqnum*", "PSN, CSN, LCN, LSN", kProse | kCode},
    {"sgl|sgls", "gather list, scatter list", kProse | kCode},
    {"front|back end", "host module, I/O unit module", kProse | kCode},
    {"purge*", "flush", kProse | kCode},
    {"bidirectional", "push-push", kProse | kCode},
});

// Words of the table that are the name of something: the third step of INIT (docs/protocol).
inline constexpr auto kProperNames = std::to_array<std::string_view>(
    {"ANSWER", "kAnswer", "on_answer", "send_answer", "kMoved", "\"answer\""});

}  // namespace splitnic::tidy
