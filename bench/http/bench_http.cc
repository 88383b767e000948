// bench_http: what a call costs. Each client sends to a server of this process that answers at
// once, with a fixed number of calls in flight, each answer sending the next. The client has one
// thread; its own processor time for a call is the figure that other load on the machine changes
// least.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <latch>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/format.h"
#include "http/curl_client.h"
#include "http/server.h"

namespace windrow {
namespace {

struct Shape {
  double run_seconds = 2;
  int in_flight = 64;
  size_t request_bytes = 600;
  size_t reply_bytes = 600;
};

double thread_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto total = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

// Keeps calls in flight until the time is over. On the loop's thread, but for the first calls.
class Load {
 public:
  Load(http::Client& client, const Clock& clock, http::ClientRequest request, const Shape& shape)
      : client_(client), clock_(clock), request_(std::move(request)), running_(shape.in_flight) {
    end_ = clock_.now() +
           std::chrono::duration_cast<Duration>(std::chrono::duration<double>(shape.run_seconds));
    for (int i = 0; i < shape.in_flight; ++i)
      send();
    running_.wait();
  }

  int64_t calls() const { return calls_; }
  int64_t failures() const { return failures_; }

 private:
  void send() {
    client_.send(request_, [this](http::ClientResult result) {
      ++calls_;
      const auto* reply = std::get_if<http::ClientReply>(&result);
      if (reply == nullptr || reply->head.status != 200) ++failures_;
      if (clock_.now() < end_) {
        send();
      } else {
        running_.count_down();
      }
    });
  }

  http::Client& client_;
  const Clock& clock_;
  const http::ClientRequest request_;
  TimePoint end_;
  std::atomic<int64_t> calls_ = 0;
  std::atomic<int64_t> failures_ = 0;
  std::latch running_;
};

// The number of calls.
int64_t measure(std::string_view name, http::Loop& loop, http::Client& client,
                const http::ClientRequest& request, const Shape& shape) {
  double cpu_before = 0;
  double cpu_after = 0;
  loop.run([&] { cpu_before = thread_cpu_seconds(); });
  const TimePoint start = loop.clock().now();
  const Load load(client, loop.clock(), request, shape);
  const double wall = seconds(loop.clock().now() - start);
  loop.run([&] { cpu_after = thread_cpu_seconds(); });
  const double cpu = cpu_after - cpu_before;
  const auto calls = static_cast<double>(load.calls());
  fmt::print("{:6} {:>10} calls/s {:8.1f} us of the client's thread {:>10} calls/s of its core{}\n",
             name, human_rate(calls / wall), 1e6 * cpu / calls, human_rate(calls / cpu),
             load.failures() == 0 ? "" : fmt::format("  {} FAILED", load.failures()));
  return load.calls();
}

int run(const Shape& shape) {
  const SystemClock clock;
  http::Loop server_loop(clock);
  const auto answer = std::make_shared<const http::PreparedReply>(
      http::ServerReply{.body = std::string(shape.reply_bytes, 'x')});
  http::Routes<http::Handler> routes;
  routes.add("POST", "/v1/chat/completions",
             [&](const http::ServerRequest&, http::Exchange exchange) { exchange.send(answer); });
  routes.add("GET", "/health", [](const http::ServerRequest&, http::Exchange exchange) {
    exchange.send({.body = R"({"status":"ok"})"});
  });
  const auto server = http::Server::open(server_loop, {}, std::move(routes)).value();

  http::ClientRequest request{
      .method = http::Method::kPost,
      .url = {.host = "127.0.0.1", .port = server->port(), .target = "/v1/chat/completions"}};
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Authorization", "Bearer 0123456789abcdef0123456789abcdef");
  request.body = std::make_shared<const std::string>(shape.request_bytes, 'x');
  fmt::print("{} in flight, {} bytes there and {} back, {:.1f} s each\n", shape.in_flight,
             shape.request_bytes, shape.reply_bytes, shape.run_seconds);

  http::Loop loop(clock);
  {
    http::CurlClient client(loop, {});
    measure("curl", loop, client, request, shape);
  }
  http::ClientRequest health{
      .url = {.host = "127.0.0.1", .port = server->port(), .target = "/health"}};
  {
    http::CurlClient client(loop, {});
    double cpu_before = 0;
    double cpu_after = 0;
    server_loop.run([&] { cpu_before = thread_cpu_seconds(); });
    const int64_t calls = measure("health", loop, client, health, shape);
    server_loop.run([&] { cpu_after = thread_cpu_seconds(); });
    fmt::print("       {:.1f} us of the server's thread for each\n",
               1e6 * (cpu_after - cpu_before) / static_cast<double>(calls));
  }
  fmt::print("\n(target: 30,000 calls/s of a core by the client, 20,000 /health calls/s)\n");
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) try {
  CLI::App app("What a call costs each HTTP client.");
  windrow::Shape shape;
  app.add_option("--seconds", shape.run_seconds, "for each client");
  app.add_option("--in-flight", shape.in_flight)->check(CLI::PositiveNumber);
  app.add_option("--request-bytes", shape.request_bytes);
  app.add_option("--reply-bytes", shape.reply_bytes);
  CLI11_PARSE(app, argc, argv);
  return windrow::run(shape);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_http: {}\n", error.what());
  return 1;
}
