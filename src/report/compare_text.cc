#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "json/values.h"
#include "report/compare_results.h"
#include "report/text_table.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

using Counts = std::map<std::string, int64_t>;

int64_t count_of(const Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

std::set<std::string> names_of(const Counts& one, const Counts& other) {
  std::set<std::string> names;
  for (const Counts* counts : {&one, &other}) {
    for (const auto& [name, count] : *counts)
      names.insert(name);
  }
  return names;
}

std::string share_text(int64_t part, int64_t whole) {
  if (whole == 0) return with_thousands(part);
  // 100 only when all are.
  const double exact = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{} ({:.1f} %)", with_thousands(part),
                     part < whole ? std::min(exact, 99.9) : 100.0);
}

// "1,204 -> 1,198", or one number where both are the same.
std::string both_text(int64_t one, int64_t other) {
  if (one == other) return with_thousands(one);
  return fmt::format("{} -> {}", with_thousands(one), with_thousands(other));
}

std::string only_text(const Comparison& comparison, size_t side) {
  std::string text = fmt::format("{} only in {}", with_thousands(comparison.rows_only[side]),
                                 comparison.sides[side].results);
  const std::vector<std::string>& ids = comparison.ids_only[side];
  if (ids.empty()) return text;
  text += fmt::format(": {}", fmt::join(ids, ", "));
  if (comparison.rows_only[side] > static_cast<int64_t>(ids.size())) text += ", ...";
  return text;
}

std::string file_text(const CompareSide& side) {
  std::string text = fmt::format("{}: {} rows, {} failed", side.results, with_thousands(side.rows),
                                 with_thousands(side.failed));
  if (side.odd_lines > 0)
    text += fmt::format("; {} lines are no results", with_thousands(side.odd_lines));
  return text;
}

std::string latency_row(const LatencyHistogram& one, const LatencyHistogram& other, double part) {
  return fmt::format("{} -> {}", latency_text(one.quantile_ms(part)),
                     latency_text(other.quantile_ms(part)));
}

void add_failures_compared(const Comparison& comparison, TextTable& table) {
  const int64_t failed =
      comparison.failed_only[0] + comparison.failed_only[1] + comparison.failed_both;
  if (failed == 0) return;
  table.row("failures",
            fmt::format("{} in both ({} with another code), {} only in the first, {} only in the "
                        "second",
                        with_thousands(comparison.failed_both),
                        with_thousands(comparison.failed_otherwise),
                        with_thousands(comparison.failed_only[0]),
                        with_thousands(comparison.failed_only[1])));
  const Counts& one = comparison.sides[0].failures;
  const Counts& other = comparison.sides[1].failures;
  for (const std::string& code : names_of(one, other))
    table.row("",
              fmt::format("{}: {}", code, both_text(count_of(one, code), count_of(other, code))));
}

void add_right(const Comparison& comparison, TextTable& table) {
  if (!comparison.has_key) return;
  const int64_t one = comparison.sides[0].right;
  const int64_t other = comparison.sides[1].right;
  table.row(
      "right",
      fmt::format("{} -> {} of {} rows of the key", share_text(one, comparison.key_rows),
                  share_text(other, comparison.key_rows), with_thousands(comparison.key_rows)));
  table.row("",
            fmt::format("{} in both, {} only in the first, {} only in the second, {} in neither",
                        with_thousands(comparison.right_both),
                        with_thousands(one - comparison.right_both),
                        with_thousands(other - comparison.right_both),
                        with_thousands(comparison.right_neither)));
}

// A text on one line.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text)
    line += c == '\n' ? std::string("\\n") : std::string(1, c);
  return line;
}

// --- JSON ---

json::object counts_json(const Counts& counts) {
  json::object object;
  for (const auto& [name, count] : counts)
    object[name] = count;
  return object;
}

json::object side_json(const Comparison& comparison, size_t index) {
  const CompareSide& side = comparison.sides[index];
  const LatencyHistogram& times = side.latency;
  json::array ids;
  for (const std::string& id : comparison.ids_only[index])
    ids.emplace_back(id);
  json::object object{{"results", side.results},
                      {"errors", text_or_null(side.errors)},
                      {"rows", side.rows},
                      {"failed", side.failed},
                      {"odd_lines", side.odd_lines},
                      {"rows_only_here", comparison.rows_only[index]},
                      {"custom_ids_only_here", std::move(ids)},
                      {"failed_only_here", comparison.failed_only[index]},
                      {"failures", counts_json(side.failures)},
                      {"finish_reasons", counts_json(side.finish_reasons)},
                      {"usage", json::object{{"prompt_tokens", side.tokens.prompt},
                                             {"cached_tokens", side.tokens.cached},
                                             {"completion_tokens", side.tokens.completion}}},
                      {"latency", json::object{{"rows", times.count()},
                                               {"p50_ms", times.quantile_ms(0.5)},
                                               {"p90_ms", times.quantile_ms(0.9)},
                                               {"p99_ms", times.quantile_ms(0.99)},
                                               {"max_ms", times.max_ms()}}}};
  if (comparison.has_key) object["right"] = side.right;
  return object;
}

}  // namespace

json::object comparison_to_json(const Comparison& comparison) {
  json::array examples;
  for (const CompareExample& example : comparison.examples) {
    examples.push_back(json::object{{"custom_id", example.custom_id},
                                    {"first", example.texts[0]},
                                    {"second", example.texts[1]}});
  }
  json::object object{
      {"version", 1},
      {"differs", comparison.differs()},
      {"rows_in_both", comparison.rows_both},
      {"answers", json::object{{"equal", comparison.equal},
                               {"different", comparison.different},
                               {"finish_reason_changed", comparison.finish_changed}}},
      {"failed_in_both", comparison.failed_both},
      {"failed_with_another_code", comparison.failed_otherwise},
      {"first", side_json(comparison, 0)},
      {"second", side_json(comparison, 1)},
      {"examples", std::move(examples)}};
  if (comparison.cosines > 0) {
    object["vectors"] = json::object{
        {"different", comparison.cosines},
        {"cosine_min", *comparison.cosine_min},
        {"cosine_mean", comparison.cosine_sum / static_cast<double>(comparison.cosines)}};
  }
  if (comparison.has_key) {
    object["key"] = json::object{{"rows", comparison.key_rows},
                                 {"right_in_both", comparison.right_both},
                                 {"right_in_neither", comparison.right_neither}};
  }
  return object;
}

std::string comparison_to_text(const Comparison& comparison) {
  const CompareSide& one = comparison.sides[0];
  const CompareSide& other = comparison.sides[1];
  TextTable table;
  table.row("first", file_text(one));
  table.row("second", file_text(other));
  table.row("rows", fmt::format("{} in both", with_thousands(comparison.rows_both)));
  for (size_t side = 0; side < 2; ++side) {
    if (comparison.rows_only[side] > 0) table.row("", only_text(comparison, side));
  }
  const int64_t answered = comparison.equal + comparison.different;
  table.row("answers", fmt::format("{} equal, {} different", share_text(comparison.equal, answered),
                                   share_text(comparison.different, answered)));
  if (comparison.cosines > 0) {
    table.row("vectors",
              fmt::format("{} different; cosine {:.6f} on average, {:.6f} at least",
                          with_thousands(comparison.cosines),
                          comparison.cosine_sum / static_cast<double>(comparison.cosines),
                          *comparison.cosine_min));
  }
  add_right(comparison, table);
  add_failures_compared(comparison, table);
  std::string_view name = "finish";
  for (const std::string& reason : names_of(one.finish_reasons, other.finish_reasons)) {
    table.row(std::exchange(name, ""),
              fmt::format("{}: {}", reason,
                          both_text(count_of(one.finish_reasons, reason),
                                    count_of(other.finish_reasons, reason))));
  }
  if (comparison.finish_changed > 0) {
    table.row("", fmt::format("{} answers ended for another reason",
                              with_thousands(comparison.finish_changed)));
  }
  table.row("tokens",
            fmt::format("{} prompt, {} output", both_text(one.tokens.prompt, other.tokens.prompt),
                        both_text(one.tokens.completion, other.tokens.completion)));
  if (one.latency.count() > 0 && other.latency.count() > 0) {
    table.row("latency", fmt::format("{} median, {} for 90 %, {} for 99 %",
                                     latency_row(one.latency, other.latency, 0.5),
                                     latency_row(one.latency, other.latency, 0.9),
                                     latency_row(one.latency, other.latency, 0.99)));
  }
  std::string text = table.take();
  for (const CompareExample& example : comparison.examples) {
    text += fmt::format("\n{}\n  - {}\n  + {}\n", on_one_line(example.custom_id),
                        on_one_line(example.texts[0]), on_one_line(example.texts[1]));
  }
  const int64_t unshown = comparison.different + comparison.failed_only[0] +
                          comparison.failed_only[1] + comparison.failed_otherwise -
                          static_cast<int64_t>(comparison.examples.size());
  if (unshown > 0) text += fmt::format("\nand {} more that differ\n", with_thousands(unshown));
  return text;
}

}  // namespace windrow::report
