// What sessions keep, and the memory of the process beside it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>
#include <vector>

#include "report/svg_chart.h"
#include "session/gauges.h"
#include "session/parts.h"
#include "session/reference_policies.h"
#include "session/session_host.h"

namespace windrow::session_bench {
namespace {

constexpr double kAnyShareMax = 1.1;    // of one copy of the rows as the server sends them
constexpr double kByteShareMax = 0.35;  // the same, where ids fit a byte
constexpr double kBesideMbMax = 300;

// Known of the reference: 50 turns of 1,000 tokens at 1,000 bytes.
constexpr int32_t kKnownTurns = 50;
constexpr double kKnownAllMb = 1275;
constexpr double kKnownLastTwoMb = 99;

// A session on average, in MB, by turn.
struct Retained {
  std::vector<double> all;
  std::vector<double> last_two;
  std::vector<double> ours;
};

void write_plot(const Retained& retained, const std::string& file) {
  const report::Chart chart{
      .title = "Retained by a session, turn by turn (one second of the axis is one turn)",
      .unit = "MB",
      .series = {{.name = "every reply", .style = "first", .values = retained.all},
                 {.name = "the last two replies", .style = "second", .values = retained.last_two},
                 {.name = "Windrow", .style = "third", .values = retained.ours}},
      .length = std::chrono::seconds(retained.ours.size())};
  std::ofstream out(file);
  out << "<!DOCTYPE html><meta charset=\"utf-8\"><title>" << report::html_escaped(chart.title)
      << "</title>\n<style>svg{width:760px;font:11px "
         "sans-serif}.grid{stroke:#ddd}.axis{stroke:#888}"
         ".tick{fill:#555}.line{fill:none;stroke-width:1.8}.first{stroke:#c33}.second{stroke:#d90}"
         ".third{stroke:#06c}rect{fill:transparent}</style>\n<h3>"
      << report::html_escaped(chart.title)
      << ", MB</h3>\n<p>red: every reply; orange: the last two; blue: Windrow</p>\n"
      << report::svg_chart(chart);
  if (!out) throw std::runtime_error("cannot write " + file);
}

// The two policies of the reference as they are known, of turns that are all alike.
bool check_policies() {
  KeepAll all;
  KeepLastTwo last_two;
  for (int32_t turn = 1; turn <= kKnownTurns; ++turn) {
    all.append(turn * kMb);
    last_two.append(turn * kMb);
  }
  return all.retained_bytes() == kKnownAllMb * kMb &&
         last_two.retained_bytes() == kKnownLastTwoMb * kMb;
}

struct Run {
  int32_t sessions = 0;
  int32_t turns = 0;
  double turn_tokens = 0;
  ModelShape model;
};

class Measurement {
 public:
  explicit Measurement(const Shape& shape) : shape_(shape) {}

  bool run(Run run, bool plots) {
    Agents agents;
    ModelServer server;
    BenchTokenizer tokenizer(shape_.model);
    run.model.end_id = tokenizer.end_id();
    SessionHost host({{"m", server.start(run.model)}}, tokenizer.get(),
                     {.kind = shape_.api,
                      .asks_new_rows = shape_.asks_new_rows,
                      .layers = static_cast<size_t>(run.model.layers())});
    create_sessions(agents, host.port(), run.sessions);
    const double before = resident_bytes();
    fmt::print(
        "\n{} sessions x {} turns x {:.0f} tokens, {} bytes a token, {} experts; resident "
        "{:.0f} MB before\n",
        run.sessions, run.turns, run.turn_tokens, run.model.row_bytes, run.model.experts,
        before / kMb);
    fmt::print("{:>5} {:>9} {:>12} {:>12} {:>12} {:>9} {:>10} {:>10}\n", "turn", "tokens",
               "every reply", "last two", "ours", "of a copy", "resident", "peak");

    Retained retained;
    KeepAll all;
    KeepLastTwo last_two;
    double beside = 0;
    double share = 0;
    const AgentsOrder order =
        play_order(host.port(), "m", 0, run.sessions, 1,
                   run.turn_tokens - static_cast<double>(run.model.answer_tokens),
                   tokenizer.tokens_per_word());
    double tokens = 0;
    for (int32_t turn = 1; turn <= run.turns; ++turn) {
      forget_peak();
      tokens = agents.run(order).tokens / run.sessions;
      // Every token but the last has a row; a reply has them all.
      const double reply = (tokens - 1) * static_cast<double>(run.model.row_bytes);
      all.append(reply);
      last_two.append(reply);
      const auto ours = static_cast<double>(host.counts().bytes);
      const double peak = peak_resident_bytes();
      beside = std::max(beside, peak - ours);
      share = ours / run.sessions / reply;
      retained.all.push_back(all.retained_bytes() / kMb);
      retained.last_two.push_back(last_two.retained_bytes() / kMb);
      retained.ours.push_back(ours / run.sessions / kMb);
      if (turn <= 3 || turn % 10 == 0 || turn == run.turns) {
        fmt::print(
            "{:>5} {:>9.0f} {:>9.1f} MB {:>9.1f} MB {:>9.1f} MB {:>9.3f} {:>7.0f} MB {:>7.0f} MB\n",
            turn, tokens, retained.all.back(), retained.last_two.back(), retained.ours.back(),
            share, resident_bytes() / kMb, peak / kMb);
      }
    }
    if (plots && !shape_.plot.empty()) write_plot(retained, shape_.plot);
    return conclude(run, retained, tokens / run.turns, share, beside);
  }

 private:
  static bool conclude(const Run& run, const Retained& retained, double turn_tokens, double share,
                       double beside) {
    const double share_max = run.model.experts <= 256 ? kByteShareMax : kAnyShareMax;
    const bool kept = share <= share_max && beside <= kBesideMbMax * kMb;
    fmt::print(
        "retained: {:.3f} of one copy of the final rows (target {}: {}); resident above it "
        "at most {:.0f} MB (target {}: {})\n",
        share, share_max, verdict(share <= share_max), beside / kMb, kBesideMbMax,
        verdict(beside <= kBesideMbMax * kMb));
    constexpr int32_t kWhole = 64;
    fmt::print("{} such sessions: every reply {:.1f} GB, the last two {:.1f} GB, ours {:.2f} GB\n",
               kWhole, retained.all.back() * kWhole / 1e3, retained.last_two.back() * kWhole / 1e3,
               retained.ours.back() * kWhole / 1e3);
    if (run.turns != kKnownTurns) return kept;
    // In turns of 1,000 tokens and bytes.
    const double unit = turn_tokens * static_cast<double>(run.model.row_bytes) / kMb;
    const double all = retained.all.back() / unit;
    const double last_two = retained.last_two.back() / unit;
    const bool known = check_policies() && std::abs(all / kKnownAllMb - 1) < 0.02 &&
                       std::abs(last_two / kKnownLastTwoMb - 1) < 0.02;
    fmt::print(
        "the reference's two, scaled to turns of 1 MB: {:.0f} and {:.1f} MB a session "
        "(known {} and {}: {})\n",
        all, last_two, kKnownAllMb, kKnownLastTwoMb, verdict(known));
    return kept && known;
  }

  const Shape& shape_;
};

}  // namespace

bool measure_retained(const Shape& shape) {
  Run run{.sessions = chosen(shape.sessions, shape.full ? 64 : 8),
          .turns = chosen(shape.turns, kKnownTurns),
          .turn_tokens = static_cast<double>(chosen<int64_t>(shape.turn_tokens, 1000))};
  run.model.answer_tokens = static_cast<int64_t>(run.turn_tokens * 0.4);
  run.model.row_bytes = shape.row_bytes >= 0 ? shape.row_bytes : 1024;
  run.model.experts = shape.experts;
  return Measurement(shape).run(run, true);
}

}  // namespace windrow::session_bench
