// bench_large_reply: what one long reply of an upstream takes while it passes through dispatcher,
// upstream backend and HTTP client to a sink (llm/reply_sink.h): resident memory above that of a
// short reply, and bytes a second. The server is a simulated one in a process of its own, or one
// that runs already (`windrow sim-upstream`). The peer is the same reply without a sink, which is
// held as a whole.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "http/curl_client.h"
#include "llm/reply_sink.h"
#include "sim_upstream/large_reply.h"
#include "sim_upstream/sim_server.h"
#include "upstream/upstream_backend.h"

namespace windrow {
namespace {

constexpr uint64_t kMb = 1'000'000;
constexpr uint64_t kCollectedMbMax = 250;  // below the limit of replies that are held as a whole

struct Shape {
  std::string url;  // empty: a server of its own
  uint64_t mb = 500;
};

// Of /proc/self/status, in MB.
double memory_mb(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size() + 1)) * 1024 / kMb;
  }
  throw std::runtime_error("/proc/self/status does not tell " + std::string(name));
}

// The largest resident memory counts from now on.
void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

// A simulated server in a process of its own, for as long as this lives. Made before any thread.
class Server {
 public:
  Server() {
    int to_child[2];
    int to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ < 0) throw std::runtime_error("no process for the server");
    if (child_ == 0) {
      close(to_child[1]);
      serve(to_child[0], to_parent[1]);
      _exit(0);
    }
    close(to_child[0]);
    close(to_parent[1]);
    end_ = to_child[1];
    if (read(to_parent[0], &port_, sizeof(port_)) != sizeof(port_))
      throw std::runtime_error("the server did not start");
    close(to_parent[0]);
  }
  ~Server() {
    close(end_);
    waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return port_; }

 private:
  // Until the other end is closed.
  static void serve(int end, int ready) {
    const SystemClock clock;
    http::Loop loop(clock);
    const auto server = sim_upstream::SimServer::open(loop, {}).value();
    const uint16_t port = server->port();
    char nothing = 0;
    if (write(ready, &port, sizeof(port)) == sizeof(port))
      while (read(end, &nothing, 1) > 0) {
      }
  }

  pid_t child_ = 0;
  int end_ = -1;
  uint16_t port_ = 0;
};

// Checks every byte. With `pauses`, it takes a piece only when another thread says so.
class Checking final : public llm::ReplySink {
 public:
  explicit Checking(bool pauses) : pauses_(pauses) {}

  size_t bytes_max() const override { return size_t{1} << 40; }
  void on_begin(std::function<void()> resume) override { resume_ = std::move(resume); }
  Take on_bytes(std::string_view piece) override {
    for (const char byte : piece)
      wrong += byte == sim_upstream::large_reply_byte(bytes++) ? 0 : 1;
    if (!pauses_) return Take::kMore;
    paused_ = true;
    paused_.notify_one();
    return Take::kPause;
  }

  // For a thread that is the sink's slow consumer: ends each pause, until end().
  void go_on_until_end() {
    for (;;) {
      paused_.wait(false);
      paused_ = false;
      if (ended_) return;
      resume_();
    }
  }
  void end() {
    ended_ = true;
    paused_ = true;
    paused_.notify_one();
  }

  uint64_t bytes = 0;
  uint64_t wrong = 0;

 private:
  const bool pauses_;
  std::atomic<bool> paused_ = false;
  std::atomic<bool> ended_ = false;
  std::function<void()> resume_;
};

class Bench {
 public:
  explicit Bench(http::Url base)
      : backend_(client_, clock_, {.base = std::move(base)}),
        dispatcher_(backend_, {.in_flight_max = 1}) {}

  // Empty: no sink.
  void measure(std::string_view name, uint64_t bytes, const std::shared_ptr<Checking>& sink,
               bool resumes = false) {
    ask(1, std::make_shared<Checking>(false));
    const double before = memory_mb("VmRSS");
    forget_peak();
    std::jthread resumer;
    if (resumes) resumer = std::jthread([sink] { sink->go_on_until_end(); });
    const TimePoint start = clock_.now();
    const uint64_t collected = ask(bytes, sink);
    const double took = seconds(clock_.now() - start);
    if (sink) sink->end();
    const uint64_t came = sink ? sink->bytes : collected;
    const bool good = came == bytes && (!sink || sink->wrong == 0);
    fmt::print("{:20} {:>5} MB in {:6.2f} s {:>6.0f} MB/s  resident {:.1f} MB, at most {:+.1f}{}\n",
               name, bytes / kMb, took, static_cast<double>(bytes) / kMb / took, before,
               memory_mb("VmHWM") - before, good ? "" : "  WRONG BYTES");
  }

 private:
  // The bytes of a body that was held as a whole.
  uint64_t ask(uint64_t bytes, std::shared_ptr<llm::ReplySink> sink) {
    llm::Request request;
    request.verbatim = {.method = llm::HttpMethod::kGet, .target = fmt::format("/bytes/{}", bytes)};
    std::promise<dispatch::DispatchResult> ended;
    const auto accepted = dispatcher_.offer(
        std::move(request), {.attempts_max = 1}, 0,
        [&](dispatch::DispatchResult result) { ended.set_value(std::move(result)); },
        {.reply_sink = std::move(sink)});
    if (!accepted) throw std::runtime_error("the request was not accepted");
    const dispatch::DispatchResult result = ended.get_future().get();
    if (const auto* failure = std::get_if<llm::Failure>(&result.outcome))
      throw std::runtime_error(failure->message);
    const llm::VerbatimReply& reply = *std::get<llm::Answer>(result.outcome).verbatim;
    if (reply.status != 200) throw std::runtime_error("the server has no /bytes: " + reply.body);
    return reply.body.size();
  }

  const SystemClock clock_;
  http::Loop loop_{clock_};
  http::CurlClient client_{loop_, {}};
  upstream::UpstreamBackend backend_;
  dispatch::Dispatcher dispatcher_;
};

int run(const Shape& shape) {
  std::unique_ptr<Server> own;
  http::Url base;
  if (shape.url.empty()) {
    own = std::make_unique<Server>();
    base = {.host = "127.0.0.1", .port = own->port()};
  } else {
    const Result<http::Url> url = http::parse_url(shape.url);
    if (!url) throw std::runtime_error(url.error().message);
    base = url.value();
  }
  Bench bench(upstream::with_version(std::move(base)));
  const uint64_t bytes = shape.mb * kMb;
  bench.measure("to a sink", bytes, std::make_shared<Checking>(false));
  bench.measure("to one that pauses", bytes / 10, std::make_shared<Checking>(true), true);
  bench.measure("held as a whole", std::min(shape.mb, kCollectedMbMax) * kMb, nullptr);
  fmt::print("\n(target: at most 16 MB more than before for 500 MB to a sink)\n");
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) try {
  CLI::App app("What a long reply takes on its way through to a sink.");
  windrow::Shape shape;
  app.add_option("--url", shape.url, "of `windrow sim-upstream`; without it a server of its own");
  app.add_option("--mb", shape.mb, "of the reply")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return windrow::run(shape);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
