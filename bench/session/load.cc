// Processor time of a turn, the delay by large reads, and the memory of small sessions.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "session/gauges.h"
#include "session/parts.h"
#include "session/session_host.h"

namespace windrow::session_bench {
namespace {

constexpr double kCiMsMax = 0.8;
constexpr double kDelayMax = 1.2;
constexpr double kSmallBytesMax = 20'000;

double mean_ms(const CpuSeconds& used, size_t turns) {
  return used.all() / static_cast<double>(turns) * 1e3;
}

double ci_round(SessionHost& host, Agents& agents, const AgentsOrder& order,
                std::string_view name) {
  const CpuSeconds before = cpu_of_process();
  const CpuSeconds reader_before = host.cpu_of_reader();
  const AgentsReport report = agents.run(order);
  const CpuSeconds used = cpu_of_process() - before;
  const CpuSeconds reader = host.cpu_of_reader() - reader_before;
  const auto count = static_cast<double>(report.turn_ms.size());
  fmt::print(
      "{:28} {:5.2f} ms of processor time a turn: {:.2f} user, {:.2f} system; of these the "
      "reader of replies {:.2f} and {:.2f}; a turn p50 {:.1f} ms, p99 {:.1f}; {:.0f} tokens in "
      "the end\n",
      name, mean_ms(used, report.turn_ms.size()), used.user / count * 1e3,
      used.system / count * 1e3, reader.user / count * 1e3, reader.system / count * 1e3,
      percentile(report.turn_ms, 0.5), percentile(report.turn_ms, 0.99),
      report.tokens / order.count);
  return mean_ms(used, report.turn_ms.size());
}

}  // namespace

AgentsOrder play_order(uint16_t port, std::string_view model, int32_t first, int32_t count,
                       int32_t turns, double new_tokens, double tokens_per_word) {
  AgentsOrder order{.port = port, .first = first, .count = count, .turns = turns};
  order.words = std::max(1, static_cast<int32_t>(new_tokens / tokens_per_word));
  model.copy(order.model, sizeof(order.model) - 1);
  return order;
}

void create_sessions(Agents& agents, uint16_t port, int32_t count) {
  agents.run({.kind = AgentsOrder::Kind::kCreate, .port = port, .count = count});
}

bool measure_ci(const Shape& shape) {
  Agents agents;
  ModelServer server;
  const int32_t sessions = chosen(shape.sessions, 8);
  const int32_t turns = chosen(shape.turns, 20);
  const int64_t turn_tokens = chosen<int64_t>(shape.turn_tokens, 1000);
  BenchTokenizer tokenizer(shape.model);
  const ModelShape model{.answer_tokens = turn_tokens * 2 / 5,
                         .row_bytes = shape.row_bytes >= 0 ? shape.row_bytes : 256,
                         .experts = shape.experts,
                         .end_id = tokenizer.end_id()};
  const uint16_t port = server.start(model);
  SessionHost::Options options{.kind = shape.api,
                               .asks_new_rows = shape.asks_new_rows,
                               .layers = static_cast<size_t>(model.layers())};
  fmt::print("\n{} sessions x {} turns x ({} + {}) tokens, {} bytes a token\n", sessions, turns,
             turn_tokens - model.answer_tokens, model.answer_tokens, model.row_bytes);
  std::vector<double> rounds;
  int32_t created = 0;
  const auto play = [&](SessionHost& host, std::string_view name) {
    create_sessions(agents, host.port(), sessions);
    AgentsOrder order = play_order(host.port(), "m", created, sessions, turns,
                                   static_cast<double>(turn_tokens - model.answer_tokens),
                                   tokenizer.tokens_per_word());
    created += sessions;
    return ci_round(host, agents, order, name);
  };
  {
    SessionHost host({{"m", port}}, tokenizer.get(), options);
    play(host, "to warm up");
    for (int32_t round = 0; round < shape.rounds; ++round)
      rounds.push_back(play(host, "every reply has all rows"));
  }
  if (!shape.asks_new_rows) {
    options.asks_new_rows = true;
    SessionHost host({{"m", port}}, tokenizer.get(), options);
    play(host, "replies have new rows alone");
  }
  const double ms = median(rounds);
  fmt::print("{:.2f} ms a turn (target {}: {}; the reference takes about 8)\n", ms, kCiMsMax,
             verdict(ms <= kCiMsMax));
  return ms <= kCiMsMax;
}

bool measure_reads(const Shape& shape) {
  // What is timed here passes through the agents and their model, so these wait for no core more
  // than the sessions do; the reader stands for a trainer elsewhere.
  Agents agents(0);
  ModelServer server(0);
  Agents readers;
  ModelServer wide_server;
  constexpr double kRecordsMb = 200;
  constexpr double kSamplesMb = 500;
  const int32_t sessions = chosen(shape.sessions, 32);
  const int32_t turns = chosen(shape.turns, 10);
  const int64_t turn_tokens = chosen<int64_t>(shape.turn_tokens, 500);
  BenchTokenizer tokenizer(shape.model);
  const ModelShape wide{.answer_tokens = 100,
                        .row_bytes = shape.row_bytes >= 0 ? shape.row_bytes : 8192,
                        .experts = shape.experts,
                        .end_id = tokenizer.end_id()};
  const ModelShape model{.answer_tokens = turn_tokens * 2 / 5,
                         .row_bytes = 1024,
                         .experts = shape.experts,
                         .model_ms = shape.model_ms >= 0 ? shape.model_ms : 200,
                         .end_id = tokenizer.end_id()};
  // The number of layers is that of the wide model: samples of a session of the other model would
  // be refused, and this bench collects none.
  SessionHost host({{"wide", wide_server.start(wide)}, {"m", server.start(model)}}, tokenizer.get(),
                   {.kind = shape.api,
                    .asks_new_rows = shape.asks_new_rows,
                    .layers = static_cast<size_t>(wide.layers())});

  // A session whose records have 1 + 2 + 3 + 4 parts of the rows in base64, and one whose samples
  // have all of them once.
  constexpr int32_t kFillTurns = 4;
  const auto fill = [&](int32_t session, double rows) {
    create_sessions(readers, host.port(), 1);
    readers.run(play_order(host.port(), "wide", session, 1, kFillTurns,
                           rows / kFillTurns - static_cast<double>(wide.answer_tokens),
                           tokenizer.tokens_per_word()));
  };
  fill(0, kRecordsMb * kMb * 3 / 4 / 10 * kFillTurns / 8192);
  fill(1, kSamplesMb * kMb / 8192);

  fmt::print(
      "\n{} sessions x {} turns x {} tokens, {} bytes a token, a model that takes {} ms, and "
      "pauses "
      "of as much; alone, and beside one reader that asks again at once\n",
      sessions, turns, turn_tokens, model.row_bytes, model.model_ms);
  const std::vector<std::string_view> names = {"alone", "beside GETs", "beside samples"};
  std::vector<std::vector<double>> turn_ms(names.size());
  int32_t created = 0;
  for (int32_t round = 0; round < shape.rounds; ++round) {
    for (size_t kind = 0; kind < names.size(); ++kind) {
      create_sessions(agents, host.port(), sessions);
      AgentsOrder order = play_order(host.port(), "m", created, sessions, turns,
                                     static_cast<double>(turn_tokens - model.answer_tokens),
                                     tokenizer.tokens_per_word());
      order.pause_us = model.model_ms * 1000;
      created += sessions;
      if (kind > 0) {
        readers.begin({.kind = AgentsOrder::Kind::kAsk,
                       .port = host.port(),
                       .first = static_cast<int32_t>(kind) - 1,
                       .asked = kind == 1 ? Asked::kRecords : Asked::kSamples});
      }
      const CpuSeconds before = cpu_of_process();
      const AgentsReport report = agents.run(order);
      const CpuSeconds used = cpu_of_process() - before;
      turn_ms[kind].insert(turn_ms[kind].end(), report.turn_ms.begin(), report.turn_ms.end());
      fmt::print(
          "  {:14} p50 {:6.1f} ms, p90 {:6.1f}, p99 {:6.1f}, most {:6.1f}; {:.1f} s of processor "
          "time",
          names[kind], percentile(report.turn_ms, 0.5), percentile(report.turn_ms, 0.9),
          percentile(report.turn_ms, 0.99), percentile(report.turn_ms, 1), used.all());
      if (kind > 0) {
        const AgentsReport done = readers.end();
        const double mb = done.bytes / kMb / static_cast<double>(done.turn_ms.size());
        fmt::print("; {} of {:.0f} MB in {:.0f} ms", done.turn_ms.size(), mb, median(done.turn_ms));
      }
      fmt::print("\n");
    }
  }
  const double alone = percentile(turn_ms[0], 0.99);
  bool kept = true;
  for (size_t kind = 1; kind < names.size(); ++kind) {
    const double delay = percentile(turn_ms[kind], 0.99) / alone;
    kept = kept && delay <= kDelayMax;
    fmt::print("p99 of all turns {}: {:.1f} ms, {:.2f} times that alone (target {}: {})\n",
               names[kind], percentile(turn_ms[kind], 0.99), delay, kDelayMax,
               verdict(delay <= kDelayMax));
  }
  return kept;
}

bool measure_small(const Shape& shape) {
  Agents agents;
  ModelServer server;
  const int32_t sessions = chosen(shape.sessions, 10'000);
  const int64_t turn_tokens = chosen<int64_t>(shape.turn_tokens, 256);
  BenchTokenizer tokenizer(shape.model);
  const ModelShape model{.answer_tokens = turn_tokens / 2,
                         .row_bytes = shape.row_bytes >= 0 ? shape.row_bytes : 256,
                         .experts = shape.experts,
                         .end_id = tokenizer.end_id()};
  SessionHost host({{"m", server.start(model)}}, tokenizer.get(),
                   {.kind = shape.api, .layers = static_cast<size_t>(model.layers())});
  const auto order = [&](int32_t first, int32_t count) {
    AgentsOrder made = play_order(host.port(), "m", first, count, chosen(shape.turns, 1),
                                  static_cast<double>(turn_tokens - model.answer_tokens),
                                  tokenizer.tokens_per_word());
    made.at_once = 32;
    return made;
  };
  constexpr int32_t kWarm = 200;
  create_sessions(agents, host.port(), kWarm);
  agents.run(order(0, kWarm));
  const double resident = resident_bytes();
  const auto accounted = static_cast<double>(host.counts().bytes);
  create_sessions(agents, host.port(), sessions);
  const AgentsReport report = agents.run(order(kWarm, sessions));
  const double tokens = report.tokens / sessions;
  // A byte for each id, or two.
  const double rows =
      (tokens - 1) * static_cast<double>(model.row_bytes) / (model.experts <= 256 ? 4 : 2);
  const double real = (resident_bytes() - resident) / sessions - rows;
  const double counted = (static_cast<double>(host.counts().bytes) - accounted) / sessions - rows;
  fmt::print("\n{} sessions of one turn of {:.0f} tokens, {:.0f} bytes of rows each\n", sessions,
             tokens, rows);
  fmt::print(
      "beside the rows: {:.1f} KB each by resident memory, {:.1f} KB by accounting (target "
      "{:.0f} KB: {})\n",
      real / 1e3, counted / 1e3, kSmallBytesMax / 1e3,
      verdict(std::max(real, counted) <= kSmallBytesMax));
  return std::max(real, counted) <= kSmallBytesMax;
}

}  // namespace windrow::session_bench
