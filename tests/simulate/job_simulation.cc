#include "simulate/job_simulation.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "batch/job_runner.h"
#include "dispatch/dispatcher.h"
#include "dispatch/waker.h"
#include "simulate/report.h"
#include "simulate/sim_disk.h"
#include "store/testing/faulty_disk.h"
#include "upstream/upstream_backend.h"

namespace windrow::simulate {
namespace {

// The operator, who sends signals, as a thread of the process.
class Operator {
 public:
  Operator(batch::JobRunner& job, const Generation& generation, const Clock& clock, ProcessEnd& end)
      : job_(job), clock_(clock), end_(end), start_(clock.now()) {
    if (generation.stops_at) orders_.push_back({start_ + *generation.stops_at, false});
    if (generation.stops_now_at) orders_.push_back({start_ + *generation.stops_now_at, true});
    if (!orders_.empty()) thread_ = std::thread([this] { give_orders(); });
  }

  ~Operator() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

 private:
  struct Order {
    TimePoint at;
    bool now;
  };

  void give_orders() {
    for (const Order& order : orders_) {
      {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, order.at - clock_.now(), [&] { return over_; })) return;
      }
      if (order.now) {
        job_.stop_now();
        end_.stopped_now_at = clock_.now();
      } else {
        job_.stop();
        end_.stopped_at = clock_.now();
      }
    }
  }

  batch::JobRunner& job_;
  const Clock& clock_;
  ProcessEnd& end_;
  const TimePoint start_;
  std::vector<Order> orders_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

batch::JobOptions job_options(const Generation& generation) {
  batch::JobOptions options;
  options.input_name = "requests.jsonl";
  options.output_path = "r.jsonl";
  options.retry_failed = generation.retry_failed;
  options.rows_max = generation.rows_max;
  options.ordered = generation.ordered;
  options.models = {"m"};
  options.any_model = true;
  options.raw = true;
  options.only_retried = generation.only_retried;
  options.look_ahead = generation.look_ahead;
  options.unwritten_bytes_max = generation.unwritten_bytes_max;
  options.grace = generation.grace;
  return options;
}

}  // namespace

JobSimulation::JobSimulation(const JobSimulationOptions& options, Trace& trace)
    : canary_(options.canary),
      plan_(draw_plan(options.seed, options.rows)),
      trace_(trace),
      threads_(plan_.threads, trace),
      random_(options.seed ^ 0x5EED),
      checks_(plan_.input, plan_.threads),
      equal_rows_(plan_.input.equal_rows()) {}

void JobSimulation::run() {
  for (const Generation& generation : plan_.generations)
    run_process(generation);

  Generation last = plan_.last;
  last.retry_failed = checks_.has_passing_failures(found_.seen);
  run_process(last);
  checks_.complete(found_.seen);

  const std::string text = found_.seen.text;
  last.retry_failed = false;
  run_process(last);
  INVARIANT(ledger_.asked().empty(), "what is done is not done again", "{} was asked",
            ledger_.asked().begin()->first);
  INVARIANT(found_.seen.text == text, "what is done is not done again", "the files differ");
}

void JobSimulation::run_process(const Generation& generation) {
  ++processes_;
  report_moment(fmt::format("process {} of {}", processes_, plan_.generations.size() + 2));
  trace_.event(threads_.now(), 0, fmt::format("--- process {} ---", processes_));
  ledger_.begin();
  servers_ = start_servers(generation.servers, threads_.now(), canary_);
  counters_ = std::make_unique<batch::JobCounters>();

  ProcessEnd end;
  end.end = threads_.run([&] { be_a_process(generation, end); }, generation.dies_at_step,
                         [&] { look(generation); });
  steps_ += threads_.steps();
  const bool killed = end.end == RunEnd::kKilled;
  INVARIANT(killed || end.end == RunEnd::kEnded, "every process ends", "it {}\n{}",
            to_string(end.end), threads_.standing());
  if (killed) end.result.reset();
  trace_.event(threads_.now(), 0,
               killed        ? "killed"
               : *end.result ? fmt::format("{}", (*end.result)->end == batch::JobEnd::kCompleted
                                                     ? "completed"
                                                     : "interrupted")
                             : "failed: " + end.result->error().message);

  disk_.release_locks();
  const JobDisk left = checks_.read(disk_);
  if (generation.power_is_lost) {
    trace_.event(threads_.now(), 0, "the power is lost");
    disk_.lose_power(random_);
  }
  const JobDisk now = checks_.read(disk_);
  checks_.process_ended(generation, found_, left, now, end, *counters_, ledger_);
  found_ = now;
}

// As windrow run wires it: what rows need last is there last, and goes first.
void JobSimulation::be_a_process(const Generation& generation, ProcessEnd& end) {
  store::testing::FaultyDisk faulty(disk_, generation.disk);
  SimDisk disk(
      faulty, trace_,
      {.seed = generation.seed, .dies_at = generation.dies_at_operation, .canary = canary_});
  batch::testing::MemoryInput input(plan_.input.text(), generation.input);
  auto job = batch::JobRunner::open(job_options(generation),
                                    {.disk = disk, .clock = clock_, .input = input}, *counters_);
  if (!job) {
    end.result = job.error();
    return;
  }
  SimClient client(servers_, ledger_, trace_, clock_, {.seed = generation.seed, .canary = canary_});
  std::vector<std::unique_ptr<upstream::UpstreamBackend>> backends;
  std::vector<dispatch::DispatchUpstream> upstreams;
  for (size_t i = 0; i < servers_.size(); ++i) {
    upstream::UpstreamOptions options{.request_timeout = generation.request_timeout,
                                      .in_flight = generation.dispatch.in_flight_max};
    options.base = *http::parse_url(fmt::format("http://server-{}/v1", i));
    backends.push_back(std::make_unique<upstream::UpstreamBackend>(client, clock_, options));
    upstreams.push_back({.backend = backends.back().get(), .concurrency = generation.concurrency});
  }
  dispatch::ThreadWaker waker(clock_);
  std::unique_ptr<dispatch::Dispatcher> dispatcher;
  if (generation.plain_dispatcher) {
    dispatcher =
        std::make_unique<dispatch::Dispatcher>(*upstreams.front().backend, generation.dispatch);
  } else {
    dispatcher =
        std::make_unique<dispatch::Dispatcher>(upstreams, generation.dispatch, clock_, waker);
  }
  const Operator signals(**job, generation, clock_, end);
  const std::vector<batch::ModelRoute> routes{{.name = "m", .dispatcher = dispatcher.get()}};
  end.result = (*job)->run(routes, {});
  end.returned_at = clock_.now();
}

// Before each step of any thread.
void JobSimulation::look(const Generation& generation) {
  int32_t in_flight_max = generation.dispatch.in_flight_max;
  if (generation.concurrency) {
    in_flight_max = generation.concurrency->fixed > 0 ? generation.concurrency->fixed
                                                      : generation.concurrency->limit_max;
  }
  for (const SimServer& server : servers_) {
    INVARIANT(server.in_flight <= in_flight_max, "no server has more calls than it may have",
              "{} of {}", server.in_flight, in_flight_max);
  }
  int64_t room = std::ssize(servers_) * in_flight_max + generation.dispatch.waiting_max;
  if (generation.dispatch.coalesce) room += equal_rows_;
  // One more waits to be admitted.
  INVARIANT(counters_->rows_in_flight <= room + 1, "what is on its way is bounded",
            "{} rows in flight, room for {}", counters_->rows_in_flight.load(), room);
  // One more waits for room, and one is about to be submitted.
  const auto read_max = static_cast<int64_t>(generation.look_ahead.rows_max);
  INVARIANT(counters_->rows_queued <= read_max + 2, "what is on its way is bounded",
            "{} rows were read, room for {}", counters_->rows_queued.load(), read_max);
}

}  // namespace windrow::simulate
