// What reading replies costs: one reply after the other against the plainest loop, and whole
// sessions, with /health meanwhile.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/base64_decoder.h"
#include "session/gauges.h"
#include "session/parts.h"
#include "session/replies/turn_reader.h"
#include "session/session_host.h"

namespace windrow::session_bench {
namespace {

constexpr double kLoopShareMax = 1.5;
constexpr double kHealthMsMax = 5;
constexpr size_t kPiece = size_t{16} << 10;  // what libcurl hands over at once

// The user time of this thread so far.
double user_seconds() {
  return cpu_of_thread().user;
}

// What reading costs, in seconds of user time, and the bytes of the bodies.
struct Costs {
  double ours = 0;
  double plain = 0;        // memcpy, then this project's base64 decoder
  double plain_table = 0;  // memcpy, then one look-up for each character
  double bytes = 0;
};

// One look-up and a shift for each character.
class TableDecoder {
 public:
  TableDecoder() {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (uint32_t i = 0; i < kAlphabet.size(); ++i)
      values_[static_cast<unsigned char>(kAlphabet[i])] = i;
  }
  void decode(std::string_view text, std::string& bytes) const {
    bytes.resize(text.size() / 4 * 3);
    char* to = bytes.data();
    for (size_t i = 0; i + 4 <= text.size(); i += 4, to += 3) {
      const uint32_t bits =
          of(text[i]) << 18U | of(text[i + 1]) << 12U | of(text[i + 2]) << 6U | of(text[i + 3]);
      to[0] = static_cast<char>(bits >> 16U);
      to[1] = static_cast<char>(bits >> 8U);
      to[2] = static_cast<char>(bits);
    }
  }

 private:
  uint32_t of(char character) const { return values_[static_cast<unsigned char>(character)]; }
  uint32_t values_[256] = {};
};

// Reads replies of a model server that were fetched before.
class ReaderCosts {
 public:
  explicit ReaderCosts(const ModelShape& model) : model_(model) {}

  void measure(const std::string& body, size_t prompt_tokens, size_t rows_held) {
    constexpr std::string_view kName = "\"routed_experts\":\"";
    const size_t begin = body.find(kName) + kName.size();
    const std::string_view blob(body.data() + begin, body.find('"', begin) - begin);
    costs_.bytes += static_cast<double>(body.size());
    costs_.plain += plain(body, blob, [this](std::string_view text) {
      decoded_.clear();
      Base64Decoder decoder;
      if (!decoder.decode(text, decoded_)) throw std::runtime_error("the rows are no base64");
    });
    costs_.plain_table +=
        plain(body, blob, [this](std::string_view text) { table_.decode(text, decoded_); });
    costs_.ours += ours(body, prompt_tokens, rows_held);
  }

  const Costs& costs() const { return costs_; }

 private:
  // The body piece by piece into one buffer, then its rows to bytes, into another that is as long
  // already. Neither buffer is touched for the first time within.
  template <class Decode>
  double plain(std::string_view body, std::string_view blob, Decode decode) {
    copy_.resize(std::max(copy_.size(), body.size()));
    decoded_.resize(blob.size());
    const double begin = user_seconds();
    for (size_t at = 0; at < body.size(); at += kPiece)
      std::memcpy(copy_.data() + at, body.data() + at, std::min(kPiece, body.size() - at));
    const auto offset = static_cast<size_t>(blob.data() - body.data());
    decode(std::string_view(copy_).substr(offset, blob.size()));
    return user_seconds() - begin;
  }

  double ours(std::string_view body, size_t prompt_tokens, size_t rows_held) const {
    const double begin = user_seconds();
    session::TurnReaderOptions options{.prompt_tokens = prompt_tokens};
    options.rows[0] = {
        .wanted = true,
        .first_row = rows_held,
        .values_per_row = rows_held > 0 ? static_cast<size_t>(model_.row_bytes / 4) : 0};
    const auto reader = session::make_turn_reader(session::ServerApi::kSglangChat, options);
    for (size_t at = 0; at < body.size(); at += kPiece)
      reader->take(body.substr(at, kPiece));
    auto read = reader->end();
    if (const auto* failure = std::get_if<llm::Failure>(&read))
      throw std::runtime_error(failure->message);
    if (!std::get<session::TurnReply>(read).rows[0]) throw std::runtime_error("no rows");
    return user_seconds() - begin;
  }

  const ModelShape model_;
  const TableDecoder table_;
  std::string copy_;
  std::string decoded_;
  Costs costs_;
};

// The replies to the turns of one session, one after the other.
Costs measure_reader(uint16_t port, const ModelShape& model, int32_t turns, int64_t turn_tokens) {
  const SystemClock clock;
  http::Loop loop(clock);
  http::CurlClient client(loop, {});
  ReaderCosts reading(model);
  size_t held = 0;
  for (int32_t turn = 1; turn <= turns; ++turn) {
    const auto prompt = static_cast<size_t>(turn * turn_tokens - model.answer_tokens);
    std::string body =
        R"({"model":"m","messages":[{"role":"user","content":"x"}],"logprobs":true,)"
        R"("return_meta_info":true,"return_routed_experts":true,"max_tokens":65536,"input_ids":[)";
    for (size_t i = 0; i < prompt; ++i)
      body += fmt::format("{}{}", i > 0 ? "," : "", 300 + i * 7 % 1000);
    body += "]}";
    http::ClientRequest request;
    request.method = http::Method::kPost;
    request.url = {.host = "127.0.0.1", .port = port, .target = "/v1/chat/completions"};
    request.headers.add("Content-Type", "application/json");
    request.body = std::make_shared<const std::string>(std::move(body));
    request.limits.reply_bytes_max = size_t{1} << 32;
    std::promise<http::ClientResult> ended;
    client.send(std::move(request),
                [&](http::ClientResult result) { ended.set_value(std::move(result)); });
    http::ClientResult result = ended.get_future().get();
    if (const auto* failure = std::get_if<http::ClientFailure>(&result))
      throw std::runtime_error(failure->message);
    const auto& reply = std::get<http::ClientReply>(result);
    if (reply.head.status != 200) throw std::runtime_error(reply.body);
    reading.measure(reply.body, prompt, held);
    held = static_cast<size_t>(turn * turn_tokens) - 1;
  }
  return reading.costs();
}

}  // namespace

bool measure_parse(const Shape& shape) {
  Agents agents;
  Agents prober(0);
  ModelServer server;
  const int32_t sessions = chosen(shape.sessions, shape.full ? 32 : 4);
  const int32_t turns = chosen(shape.turns, 50);
  const int64_t turn_tokens = chosen<int64_t>(shape.turn_tokens, 2000);
  BenchTokenizer tokenizer(shape.model);
  ModelShape model{.answer_tokens = turn_tokens / 5,
                   .row_bytes = shape.row_bytes >= 0 ? shape.row_bytes : 1024,
                   .experts = shape.experts,
                   .end_id = tokenizer.end_id()};
  const uint16_t port = server.start(model);

  fmt::print("\nReplies of {} turns x {} tokens, {} bytes a token, read one after the other\n",
             turns, turn_tokens, model.row_bytes);
  const Costs costs = measure_reader(port, model, turns, turn_tokens);
  const double share = costs.ours / costs.plain;
  fmt::print("{:.1f} GB of bodies, user time: parse, decode and store {:.2f} s ({:.1f} GB/s)\n",
             costs.bytes / 1e9, costs.ours, costs.bytes / 1e9 / costs.ours);
  fmt::print(
      "  the plainest loop: memcpy of the body, and base64 decoding of all its rows, with the "
      "decoder of base/ {:.2f} s\n  (with a look-up for each character {:.2f} s)\n",
      costs.plain, costs.plain_table);
  fmt::print(
      "  {:.2f} of the loop (target {}: {}); {:.1f} ms a body on average (the reference: 79 ms "
      "p50)\n",
      share, kLoopShareMax, verdict(share <= kLoopShareMax), costs.ours / turns * 1e3);

  SessionHost host({{"m", port}}, tokenizer.get(),
                   {.kind = shape.api,
                    .asks_new_rows = shape.asks_new_rows,
                    .layers = static_cast<size_t>(model.layers())});
  create_sessions(agents, host.port(), sessions);
  AgentsOrder order = play_order(host.port(), "m", 0, sessions, turns,
                                 static_cast<double>(turn_tokens - model.answer_tokens),
                                 tokenizer.tokens_per_word());
  prober.begin({.kind = AgentsOrder::Kind::kAsk, .port = host.port(), .asked = Asked::kHealth});
  forget_peak();
  const CpuSeconds before = cpu_of_process();
  const CpuSeconds reader_before = host.cpu_of_reader();
  const auto begin = std::chrono::steady_clock::now();
  const AgentsReport report = agents.run(order);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const CpuSeconds used = cpu_of_process() - before;
  const CpuSeconds reader = host.cpu_of_reader() - reader_before;
  const double peak = peak_resident_bytes();
  const AgentsReport health = prober.end();
  const auto count = static_cast<double>(report.turn_ms.size());

  fmt::print("\n{} sessions x {} turns x {} tokens at once, {:.0f} tokens in the end\n", sessions,
             turns, turn_tokens, report.tokens / sessions);
  fmt::print(
      "wall {:.1f} s, {:.1f} turns/s; a turn p50 {:.0f} ms, p95 {:.0f}, p99 {:.0f} (the "
      "reference, 32 sessions on one core: p50 7.8 s, p99 18.5 s, 3.95 turns/s)\n",
      took.count(), count / took.count(), percentile(report.turn_ms, 0.5),
      percentile(report.turn_ms, 0.95), percentile(report.turn_ms, 0.99));
  fmt::print(
      "processor time of a turn: {:.1f} ms user, {:.1f} ms system; of these the thread that "
      "reads replies, with libcurl: {:.1f} ms user, {:.1f} ms system\n",
      used.user / count * 1e3, used.system / count * 1e3, reader.user / count * 1e3,
      reader.system / count * 1e3);
  const double loop_of_turns = costs.plain / turns;
  fmt::print(
      "  the plainest loop for the same bodies: {:.1f} ms, so that thread's user time is {:.2f} "
      "of it\n",
      loop_of_turns * 1e3, reader.user / count / loop_of_turns);
  const double p99 = percentile(health.turn_ms, 0.99);
  fmt::print("/health meanwhile: p50 {:.2f} ms, p99 {:.2f} ms of {} (target {} ms: {})\n",
             percentile(health.turn_ms, 0.5), p99, health.turn_ms.size(), kHealthMsMax,
             verdict(p99 <= kHealthMsMax));
  fmt::print("retained {:.0f} MB, resident at most {:.0f} MB\n",
             static_cast<double>(host.counts().bytes) / kMb, peak / kMb);
  return share <= kLoopShareMax && p99 <= kHealthMsMax;
}

}  // namespace windrow::session_bench
