// One page without anything outside of it: a summary, the groups, and each case with its messages
// as a sequence diagram, their fields and their bytes.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/report/decode.h"
#include "conformance/report/report.h"

namespace splitnic::conformance {
namespace {

constexpr std::size_t kLabelMax = 70;
// Datagrams of all cases that passed, and of one of them at least: a browser opens 20 MB readily.
constexpr std::size_t kShownOfPassed = 20'000;
constexpr std::size_t kShownAtLeast = 50;
constexpr int kWidth = 760;
constexpr int kSuiteX = 90;
constexpr int kTargetX = 670;
constexpr int kTop = 44;
constexpr int kStep = 30;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left; }
details { border-top: 1px solid #8884; padding: .3rem 0; } summary { cursor: pointer; }
.v { display: inline-block; min-width: 6.5em; font-weight: 600; }
.PASS { color: #1a7f37; } .FAIL, .WEDGED { color: #cf222e; } .REJECTED, .WARN { color: #9a6700; } .SKIP { color: #6e7781; }
a { color: inherit; text-decoration: none; } a.FAIL, a.WEDGED { color: #cf222e; font-weight: 600; }
.c { color: #6e7781; } svg { width: 100%; height: auto; font: 12px ui-monospace, monospace; }
svg text { fill: currentColor; } svg line, svg path { stroke: currentColor; fill: none; }
.id { white-space: nowrap; }
pre { font: 12px/1.35 ui-monospace, monospace; white-space: pre-wrap; margin: .2rem 0 .6rem 1rem; }
)";

std::string cut(const std::string& text) {
  return text.size() <= kLabelMax ? text : std::string(text, 0, kLabelMax - 3).append("...");
}

std::string arrow(const Exchanged& one, const std::string& label, int y) {
  const bool is_sent = one.direction == Direction::kSent;
  const int from = is_sent ? kSuiteX : kTargetX;
  const int to = is_sent ? kTargetX : kSuiteX;
  const int back = is_sent ? to - 8 : to + 8;
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>"
      "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/><path d=\"M{} {}L{} {}L{} {}\"/>",
      (kSuiteX + kTargetX) / 2, y - 5, escaped(cut(label)), from, y, to, y, back, y - 4, to, y,
      back, y + 4);
}

std::string label_of(const Exchanged& one, const Decoded& decoded) {
  return one.host == 0 ? decoded.label : fmt::format("end {}: {}", one.host + 1, decoded.label);
}

std::string diagram(const Transcript& transcript, const std::vector<Decoded>& decoded) {
  const int height = kTop + kStep * static_cast<int>(decoded.size()) + 14;
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"sequence diagram\">"
      "<text x=\"{}\" y=\"18\" text-anchor=\"middle\">suite</text>"
      "<text x=\"{}\" y=\"18\" text-anchor=\"middle\">target</text>"
      "<line x1=\"{}\" y1=\"24\" x2=\"{}\" y2=\"{}\"/><line x1=\"{}\" y1=\"24\" x2=\"{}\" "
      "y2=\"{}\"/>",
      kWidth, height, kSuiteX, kTargetX, kSuiteX, kSuiteX, height, kTargetX, kTargetX, height);
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const int y = kTop + kStep * static_cast<int>(i) + 10;
    const double ms = std::chrono::duration<double, std::milli>(transcript.all()[i].at).count();
    out += fmt::format("<text x=\"4\" y=\"{}\">{:.1f} ms</text>", y + 4, ms);
    out += arrow(transcript.all()[i], label_of(transcript.all()[i], decoded[i]), y);
  }
  return out + "</svg>\n";
}

std::string messages(const Transcript& transcript, const std::vector<Decoded>& decoded) {
  std::string out;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const Exchanged& one = transcript.all()[i];
    out += fmt::format("<details><summary>{} {} <span class=\"c\">{} bytes</span></summary><pre>",
                       one.direction == Direction::kSent ? "&rarr;" : "&larr;",
                       escaped(cut(label_of(one, decoded[i]))), one.bytes.size());
    for (const std::string& line : decoded[i].fields) out += escaped(line) + "\n";
    out += hex_of(one.bytes) + "</pre></details>\n";
  }
  const std::size_t rest = transcript.all().size() - decoded.size() + transcript.left_out();
  if (rest > 0) out += fmt::format("<p>{} more datagrams are left out.</p>\n", rest);
  return out;
}

// At most `shown` datagrams if it passed.
std::string section(const CaseResult& result, std::size_t shown) {
  std::string out = fmt::format(
      "<details id=\"{}\"><summary><span class=\"v {}\">{}</span> {} <span class=\"c\">{} &mdash; "
      "{}</span></summary>\n",
      escaped(result.about.id), name(result.verdict), name(result.verdict),
      escaped(result.about.id), escaped(result.about.clause), escaped(result.about.description));
  if (result.verdict == Verdict::kSkip) {
    out += fmt::format("<p>Not run: {}.</p>\n", escaped(result.expected));
  } else if (result.verdict != Verdict::kPass) {
    out += fmt::format("<p>Expected: {}.<br>Received: {}.</p>\n", escaped(result.expected),
                       escaped(result.received));
  }
  std::vector<Decoded> decoded;
  for (const Exchanged& one : result.transcript.all()) {
    if (decoded.size() == shown && result.verdict == Verdict::kPass) break;
    decoded.push_back(decode(one.bytes));
  }
  if (!decoded.empty()) {
    out += diagram(result.transcript, decoded) + messages(result.transcript, decoded);
  }
  return out + "</details>\n";
}

std::string summary_table(const Report& report) {
  std::string out = "<table><tbody><tr>";
  constexpr std::array kAll{Verdict::kPass,     Verdict::kFail,   Verdict::kWarn,
                            Verdict::kRejected, Verdict::kWedged, Verdict::kSkip};
  for (const Verdict verdict : kAll) {
    out += fmt::format("<th class=\"{}\">{}</th>", name(verdict), name(verdict));
  }
  out += "</tr><tr>";
  for (const Verdict verdict : kAll) out += fmt::format("<td>{}</td>", report.count(verdict));
  return out + "</tr></tbody></table>\n";
}

std::string clauses_table(const Report& report) {
  std::string out =
      "<h2 id=\"clauses\">Clauses</h2>\n"
      "<table><thead><tr><th>clause</th><th>verdict</th><th>cases</th></tr></thead><tbody>\n";
  for (const ClauseResult& one : report.clauses()) {
    out += fmt::format("<tr><td class=\"id\">{}</td><td class=\"{}\">{}</td><td>",
                       escaped(one.clause), name(one.verdict), name(one.verdict));
    for (const CaseResult* const result : one.cases) {
      out += fmt::format("<a class=\"id {}\" href=\"#{}\">{}</a> ", name(result->verdict),
                         escaped(result->about.id), escaped(result->about.id));
    }
    out += "</td></tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string states_table(const Report& report) {
  if (report.coverage.empty()) return {};
  std::string out = fmt::format(
      "<h2 id=\"states\">States</h2>\n<p>The target was driven over {} % of the edges of the "
      "specification's tables that its peer can drive and see.</p>\n"
      "<table><thead><tr><th>table</th><th>edges</th><th>states</th></tr></thead><tbody>\n",
      Coverage::percent_of(report.coverage));
  for (const TableCoverage& one : report.coverage) {
    out += fmt::format(
        "<tr><td>{} <span class=\"c\">{}</span></td><td>{} of {}</td><td>{} of {}</td></tr>\n",
        escaped(one.table->name), escaped(one.table->page), one.reached, one.total,
        one.states_reached, one.states);
  }
  out += "</tbody></table>\n<details><summary>Edges that were not reached</summary><ul>\n";
  for (const TableCoverage& one : report.coverage) {
    for (const TableCoverage::Missing& missing : one.missing) {
      out += fmt::format("<li>{}: {}</li>\n", escaped(one.table->name), escaped(missing.text()));
    }
  }
  return out + "</ul></details>\n";
}

}  // namespace

std::string html_of(const Report& report) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Conformance of {}"
      "</title><style>{}</style></head><body>\n<h1>Conformance of {}</h1>\n<p>{}; seed {}.</p>\n",
      escaped(report.target), kStyle, escaped(report.target), report.summary(), report.seed);
  out += summary_table(report) + clauses_table(report) + states_table(report);
  const std::size_t shown =
      std::max(kShownAtLeast, kShownOfPassed / std::max<std::size_t>(report.results.size(), 1));
  std::string group;
  for (const CaseResult& result : report.results) {
    if (result.about.group() != group) {
      group = result.about.group();
      out += fmt::format("<h2>{}</h2>\n", escaped(group));
    }
    out += section(result, shown);
  }
  return out + "</body></html>\n";
}

}  // namespace splitnic::conformance
