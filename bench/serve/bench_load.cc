// bench_load: sends requests to a server, from a number of clients that each wait for their answer
// (closed loop) or by a clock (open loop, Poisson), and measures how long each took. Bodies come
// from a file of lines {"path": "/v1/...", "body": {...}} and are sent in its order, again from the
// start.
//
// With --rate a request's time begins when it was due, so a generator that is late makes the server
// look slow, never fast.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/url.h"

namespace windrow {
namespace {

namespace json = boost::json;

struct Options {
  std::string url;
  std::string bodies;
  std::vector<std::string> headers;
  int clients = 1;
  double rate = 0;  // a second; 0: closed loop
  int64_t requests = 0;
  double run_seconds = 0;
  int64_t warm_up = 0;  // the first so many are not counted
  uint64_t seed = 1;
  double limit_seconds = 600;
};

struct Body {
  http::Url url;
  std::shared_ptr<const std::string> text;
  bool get = false;
};

double exponential(Random& random) {
  return -std::log(1 - random.unit());
}

Duration of_seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

json::object figures(std::vector<double> values) {
  json::object out;
  if (values.empty()) return out;
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<size_t>(std::llround(share * last))];
  };
  double sum = 0;
  for (const double value : values)
    sum += value;
  out["mean"] = sum / static_cast<double>(values.size());
  out["p50"] = at(0.5);
  out["p95"] = at(0.95);
  out["p99"] = at(0.99);
  out["max"] = values.back();
  return out;
}

// On the loop's thread, but for the start and the report.
class Load {
 public:
  Load(http::Loop& loop, const Clock& clock, const Options& options, std::vector<Body> bodies)
      : loop_(loop),
        clock_(clock),
        options_(options),
        bodies_(std::move(bodies)),
        random_(options.seed),
        client_(std::make_unique<http::CurlClient>(loop, http::ClientOptions{})) {}

  void run() {
    loop_.run([this] {
      begin_ = clock_.now();
      counted_from_ = begin_;
      if (options_.rate > 0) {
        timer_ = std::make_unique<http::Timer>(loop_);
        due_ = begin_;
        send_due();
        return;
      }
      for (int i = 0; i < options_.clients; ++i)
        send(clock_.now());
    });
    done_.wait();
    loop_.run([this] { timer_.reset(); });
  }

  json::object report() const {
    const double took = seconds(ended_ - counted_from_);
    json::object out;
    out["requests"] = static_cast<int64_t>(latencies_ms_.size());
    out["failures"] = failures_;
    if (!first_failure_.empty()) out["first_failure"] = first_failure_;
    out["seconds"] = took;
    out["per_second"] = static_cast<double>(latencies_ms_.size()) / took;
    out["completion_tokens"] = tokens_;
    out["tokens_per_second"] = static_cast<double>(tokens_) / took;
    out["latency_ms"] = figures(latencies_ms_);
    out["first_ms"] = figures(firsts_ms_);
    return out;
  }

 private:
  struct Call {
    TimePoint due;
    TimePoint first{};
    int64_t index = 0;
    std::string tail;  // the last event of a stream, where its usage is
  };

  bool more() const {
    if (options_.requests > 0 && sent_ >= options_.requests + options_.warm_up) return false;
    return options_.run_seconds <= 0 || clock_.now() - begin_ < of_seconds(options_.run_seconds);
  }

  void send_due() {
    const TimePoint now = clock_.now();
    while (more() && due_ <= now) {
      send(due_);
      due_ += of_seconds(exponential(random_) / options_.rate);
    }
    if (more()) {
      timer_->wake_at(due_, [this] { send_due(); });
    } else {
      sending_ = false;
      end_when_idle();
    }
  }

  void send(TimePoint due) {
    if (!more()) {
      if (options_.rate <= 0) sending_ = false;
      end_when_idle();
      return;
    }
    const Body& body = bodies_[static_cast<size_t>(sent_) % bodies_.size()];
    auto call = std::make_shared<Call>(Call{.due = due, .index = sent_});
    ++sent_;
    ++in_flight_;
    http::ClientRequest request;
    request.method = body.get ? http::Method::kGet : http::Method::kPost;
    request.url = body.url;
    request.body = body.text;
    request.headers.add("Content-Type", "application/json");
    for (const std::string& header : options_.headers) {
      const size_t colon = header.find(':');
      request.headers.add(header.substr(0, colon),
                          header.substr(std::min(header.size(), colon + 2)));
    }
    request.limits.total = of_seconds(options_.limit_seconds);
    request.on_data = [this, call](const http::ReplyHead&, std::string_view bytes) {
      if (call->first == TimePoint{}) call->first = clock_.now();
      call->tail.append(bytes);
      return true;
    };
    client_->send(std::move(request), [this, call](http::ClientResult result) {
      ended(*call, result);
      if (options_.rate <= 0) send(clock_.now());
      end_when_idle();
    });
  }

  void ended(const Call& call, const http::ClientResult& result) {
    --in_flight_;
    const TimePoint now = clock_.now();
    const bool counts = call.index >= options_.warm_up;
    if (call.index + 1 == options_.warm_up) counted_from_ = now;
    const auto* reply = std::get_if<http::ClientReply>(&result);
    if (reply == nullptr || reply->head.status != 200) {
      ++failures_;
      if (first_failure_.empty()) {
        first_failure_ = reply != nullptr
                             ? fmt::format("{}: {}", reply->head.status, reply->body.substr(0, 300))
                             : std::get<http::ClientFailure>(result).message;
      }
      return;
    }
    if (!counts) return;
    ended_ = now;
    latencies_ms_.push_back(1e3 * seconds(now - call.due));
    firsts_ms_.push_back(1e3 * seconds((call.first == TimePoint{} ? now : call.first) - call.due));
    tokens_ += tokens_of(call.tail);
  }

  static int64_t tokens_of(std::string_view text) {
    constexpr std::string_view kName = "\"completion_tokens\":";
    const size_t at = text.rfind(kName);
    if (at == std::string_view::npos) return 0;
    return std::atoll(std::string(text.substr(at + kName.size(), 20)).c_str());
  }

  void end_when_idle() {
    if (in_flight_ > 0 || sending_ || ended_already_) return;
    ended_already_ = true;
    done_.count_down();
  }

  http::Loop& loop_;
  const Clock& clock_;
  const Options options_;
  const std::vector<Body> bodies_;
  Random random_;
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<http::Timer> timer_;
  std::latch done_{1};
  TimePoint begin_{};
  TimePoint counted_from_{};
  TimePoint ended_{};
  TimePoint due_{};
  int64_t sent_ = 0;
  int64_t in_flight_ = 0;
  bool sending_ = true;
  bool ended_already_ = false;
  int64_t failures_ = 0;
  std::string first_failure_;
  std::vector<double> latencies_ms_;
  std::vector<double> firsts_ms_;
  int64_t tokens_ = 0;
};

std::vector<Body> read_bodies(const Options& options) {
  std::vector<Body> bodies;
  std::ifstream file(options.bodies);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    const json::object object = json::parse(line).as_object();
    const std::string path(object.at("path").as_string());
    Result<http::Url> url = http::parse_url(options.url + path);
    if (!url) throw std::runtime_error(url.error().message);
    const json::value* body = object.if_contains("body");
    bodies.push_back({.url = *url,
                      .text = body == nullptr
                                  ? nullptr
                                  : std::make_shared<const std::string>(json::serialize(*body)),
                      .get = body == nullptr});
  }
  if (bodies.empty()) throw std::runtime_error(options.bodies + " has no bodies");
  return bodies;
}

int run(int argc, char** argv) {
  CLI::App app{"sends requests to a server and measures how long they take"};
  Options options;
  app.add_option("url", options.url, "http://127.0.0.1:8080")->required();
  app.add_option("--bodies", options.bodies, "lines {\"path\": ..., \"body\": ...}; no body: GET")
      ->required();
  app.add_option("--clients", options.clients, "who each wait for their answer");
  app.add_option("--rate", options.rate, "requests a second, whoever waits");
  app.add_option("--requests", options.requests, "to count");
  app.add_option("--seconds", options.run_seconds, "to send for");
  app.add_option("--warm-up", options.warm_up, "requests before those that count");
  app.add_option("--seed", options.seed);
  app.add_option("--limit", options.limit_seconds, "seconds for one request");
  app.add_option("--header", options.headers, "NAME: VALUE");
  CLI11_PARSE(app, argc, argv);
  if (options.requests <= 0 && options.run_seconds <= 0) options.run_seconds = 5;
  const SystemClock clock;
  http::Loop loop(clock);
  Load load(loop, clock, options, read_bodies(options));
  load.run();
  fmt::print("{}\n", json::serialize(load.report()));
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) try {
  return windrow::run(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_load: {}\n", error.what());
  return 2;
}
