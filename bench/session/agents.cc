#include "session/agents.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "http/curl_client.h"
#include "sim_upstream/answer_text.h"

namespace windrow::session_bench {
namespace {

namespace json = boost::json;

using Ticks = std::chrono::steady_clock;

constexpr auto kHealthPeriod = std::chrono::milliseconds(4);

double ms_since(Ticks::time_point begin) {
  return std::chrono::duration<double, std::milli>(Ticks::now() - begin).count();
}

struct Conversation {
  std::string id;
  std::string messages;  // JSON, without the brackets
  int64_t turns = 0;
  double tokens = 0;
};

// Everything in the agents' process.
class AgentsProcess {
 public:
  AgentsReport run(const AgentsOrder& order) {
    order_ = order;
    report_ = {};
    if (order.kind == AgentsOrder::Kind::kCreate) {
      for (int32_t i = 0; i < order.count; ++i) {
        const json::value made = json::parse(ask(http::Method::kPost, "/sessions", "{}"));
        conversations_.push_back({.id = std::string(made.at("session_id").as_string())});
      }
    } else {
      play();
    }
    return std::move(report_);
  }

  AgentsReport ask_until(const AgentsOrder& order, const std::atomic<bool>& stopped) {
    order_ = order;
    report_ = {};
    do {
      const Ticks::time_point begin = Ticks::now();
      if (order_.asked == Asked::kHealth) {
        ask(http::Method::kGet, "/health", "");
      } else {
        read();
      }
      report_.turn_ms.push_back(ms_since(begin));
      if (order_.asked == Asked::kHealth) pause(kHealthPeriod);
    } while (!stopped);
    return std::move(report_);
  }

 private:
  void read() {
    const std::string path = "/sessions/" + conversations_.at(static_cast<size_t>(order_.first)).id;
    uint64_t bytes = 0;
    if (order_.asked == Asked::kRecords) {
      ask(http::Method::kGet, path, "", &bytes);
    } else {
      ask(http::Method::kPost, path + "/samples", "{}", &bytes);
    }
    report_.bytes += static_cast<double>(bytes);
  }

  void play() {
    std::atomic<int32_t> next = 0;
    std::vector<std::future<void>> threads;
    for (int32_t i = 0; i < std::min(order_.at_once, order_.count); ++i) {
      threads.push_back(std::async(std::launch::async, [this, &next] {
        for (int32_t at = next++; at < order_.count; at = next++)
          play(conversations_.at(static_cast<size_t>(order_.first + at)));
      }));
    }
    for (std::future<void>& thread : threads)
      thread.get();
  }

  void play(Conversation& conversation) {
    Random random(hash64(conversation.id) + static_cast<uint64_t>(conversation.turns));
    for (int32_t i = 0; i < order_.turns; ++i) {
      if (order_.pause_us > 0) {
        const double share = 0.5 + random.unit();
        pause(std::chrono::microseconds(
            static_cast<int64_t>(share * static_cast<double>(order_.pause_us))));
      }
      take_turn(conversation, random);
    }
    const std::scoped_lock lock(mutex_);
    report_.tokens += conversation.tokens;
  }

  void pause(std::chrono::microseconds time) {
    std::unique_lock lock(mutex_);
    never_.wait_for(lock, time, [] { return false; });
  }

  void take_turn(Conversation& conversation, Random& random) {
    json::object message{{"role", "user"}, {"content", text(random)}};
    if (!conversation.messages.empty()) conversation.messages += ',';
    conversation.messages += json::serialize(message);
    const std::string body =
        fmt::format(R"({{"model":"{}","max_tokens":65536,"temperature":1,"messages":[{}]}})",
                    order_.model, conversation.messages);
    const std::string target = fmt::format("/sessions/{}/v1/chat/completions", conversation.id);
    const Ticks::time_point begin = Ticks::now();
    const std::string reply = ask(http::Method::kPost, target, body);
    const double took = ms_since(begin);
    const json::value read = json::parse(reply);
    conversation.messages += ',';
    conversation.messages += json::serialize(read.at("choices").at(0).at("message"));
    conversation.tokens = read.at("usage").at("total_tokens").to_number<double>();
    ++conversation.turns;
    const std::scoped_lock lock(mutex_);
    report_.turn_ms.push_back(took);
  }

  // Lines of words, as a tool's output has them.
  std::string text(Random& random) const {
    constexpr int32_t kWordsOfLine = 12;
    std::string text;
    for (int32_t i = 0; i < order_.words; ++i) {
      if (i > 0) text += i % kWordsOfLine == 0 ? '\n' : ' ';
      text += sim_upstream::answer_word(random.next());
    }
    return text;
  }

  // The body; or with `counted` only how many bytes it has.
  std::string ask(http::Method method, std::string target, std::string body,
                  uint64_t* counted = nullptr) {
    http::ClientRequest request;
    request.method = method;
    request.url = {.host = "127.0.0.1", .port = order_.port, .target = std::move(target)};
    if (method == http::Method::kPost) {
      request.headers.add("Content-Type", "application/json");
      request.body = std::make_shared<const std::string>(std::move(body));
    }
    if (counted != nullptr) {
      request.limits.taken_bytes_max = size_t{1} << 40;
      request.on_data = [counted](const http::ReplyHead&, std::string_view piece) {
        *counted += piece.size();
        return true;
      };
    }
    const std::string what = request.url.target;
    std::promise<http::ClientResult> ended;
    client_.send(std::move(request),
                 [&](http::ClientResult result) { ended.set_value(std::move(result)); });
    http::ClientResult result = ended.get_future().get();
    if (const auto* failure = std::get_if<http::ClientFailure>(&result))
      throw std::runtime_error(what + ": " + failure->message);
    auto& reply = std::get<http::ClientReply>(result);
    if (reply.head.status / 100 != 2)
      throw std::runtime_error(fmt::format("{}: {} {}", what, reply.head.status, reply.body));
    return std::move(reply.body);
  }

  const SystemClock clock_;
  http::Loop loop_{clock_};
  http::CurlClient client_{loop_, {}};
  AgentsOrder order_;
  std::vector<Conversation> conversations_;
  std::mutex mutex_;
  std::condition_variable never_;
  AgentsReport report_;
};

void append(const std::vector<double>& values, std::string& message) {
  const uint64_t count = values.size();
  message.append(reinterpret_cast<const char*>(&count), sizeof(count));
  message.append(reinterpret_cast<const char*>(values.data()), count * sizeof(double));
}

std::vector<double> take(std::string_view& message) {
  uint64_t count = 0;
  std::memcpy(&count, message.data(), sizeof(count));
  message.remove_prefix(sizeof(count));
  std::vector<double> values(count);
  std::memcpy(values.data(), message.data(), count * sizeof(double));
  message.remove_prefix(count * sizeof(double));
  return values;
}

std::string to_message(const AgentsReport& report) {
  std::string message;
  append(report.turn_ms, message);
  append({report.bytes, report.tokens}, message);
  return message;
}

AgentsReport to_report(std::string_view message) {
  AgentsReport report{.turn_ms = take(message)};
  const std::vector<double> sums = take(message);
  report.bytes = sums.at(0);
  report.tokens = sums.at(1);
  return report;
}

void serve_orders(Channel& channel) {
  AgentsProcess agents;
  std::string message;
  while (channel.receive(message)) {
    AgentsOrder order;
    std::memcpy(&order, message.data(), sizeof(order));
    if (order.kind != AgentsOrder::Kind::kAsk) {
      channel.send(to_message(agents.run(order)));
      continue;
    }
    std::atomic<bool> stopped = false;
    auto asking = std::async(std::launch::async, [&] { return agents.ask_until(order, stopped); });
    channel.receive(message);
    stopped = true;
    channel.send(to_message(asking.get()));
  }
}

}  // namespace

Agents::Agents(int niceness)
    : process_([niceness](Channel& channel) {
        setpriority(PRIO_PROCESS, 0, niceness);
        serve_orders(channel);
      }) {}

AgentsReport Agents::run(const AgentsOrder& order) {
  begin(order);
  return to_report(process_.receive());
}

void Agents::begin(const AgentsOrder& order) {
  process_.send(std::string(reinterpret_cast<const char*>(&order), sizeof(order)));
}

AgentsReport Agents::end() {
  process_.send("");
  return to_report(process_.receive());
}

}  // namespace windrow::session_bench
