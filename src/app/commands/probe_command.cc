#include "app/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/probe_requests.h"
#include "app/commands/probe_run.h"
#include "app/commands/probe_text.h"
#include "app/process/console.h"
#include "app/process/open_files.h"
#include "app/process/signals.h"
#include "app/settings/fleet_settings.h"
#include "base/clock.h"
#include "batch/job_runner.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "upstream/ask_upstream.h"
#include "upstream/upstream_backend.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr int kProbeExitInterrupted = 130;

// The first request may wait until a model is loaded.
constexpr Duration kRequestTimeout = std::chrono::minutes(10);

// A number that cannot be measured in its time gets so many times as much.
constexpr int64_t kPatience = 10;
constexpr Duration kNumberTimeMax = std::chrono::minutes(10);

// Requests that are tried before none of them will do: rows of a file that the server may not take,
// or failures by chance.
constexpr int kFirstTries = 3;

// Passes requests that ended, and the wish to stop, from the client's thread to the one that
// probes.
class Ends {
 public:
  struct One {
    int64_t request = 0;
    TimePoint at;
    llm::Outcome outcome;
  };

  void add(One one) {
    const std::scoped_lock lock(mutex_);
    ended_.push_back(std::move(one));
    changed_.notify_all();
  }

  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  bool stopped() const {
    const std::scoped_lock lock(mutex_);
    return stopped_;
  }

  // The next that ended, once there is one; nothing when it is time to stop, or over.
  std::optional<One> take(Duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return stopped_ || !ended_.empty(); });
    if (stopped_ || ended_.empty()) return std::nullopt;
    One one = std::move(ended_.front());
    ended_.pop_front();
    return one;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<One> ended_;
  bool stopped_ = false;
};

// Sends what a ProbeRun wants in flight, and tells it what becomes of it.
class Prober {
 public:
  Prober(llm::Backend& backend, ProbeRequests requests, Ends& ends, const Clock& clock,
         Console& console)
      : backend_(backend),
        requests_(std::move(requests)),
        ends_(ends),
        clock_(clock),
        console_(console) {}

  // One request alone; nothing where it was answered, or where it is time to stop.
  std::optional<llm::Failure> first() {
    send(0);
    const std::optional<Ends::One> one = ends_.take(2 * kRequestTimeout);
    if (!one) return std::nullopt;
    const auto* failure = std::get_if<llm::Failure>(&one->outcome);
    return failure == nullptr ? std::nullopt : std::optional(*failure);
  }

  // Until the run is over or it is time to stop. `show` gets each measure when its number is left.
  void run(ProbeRun& run, const std::function<void(const ProbeMeasure&)>& show) {
    int32_t warned_at = 0;
    for (int32_t in_flight = 0; !run.is_over();) {
      if (ends_.stopped()) return run.stop(clock_.now());
      for (; in_flight < run.limit(); ++in_flight)
        send(run.sent(clock_.now()));
      const int32_t number = run.limit();
      const std::optional<Ends::One> one = ends_.take(run.wake_at() - clock_.now());
      if (one && one->request == 0) continue;  // the first one, which was given up
      if (ends_.stopped()) {
        run.stop(clock_.now());
      } else if (one) {
        --in_flight;
        const auto* failure = std::get_if<llm::Failure>(&one->outcome);
        if (failure != nullptr && std::exchange(warned_at, number) != number)
          console_.warn(fmt::format("with {} in flight: {}", number, failure->message));
        report(run, *one);
      } else {
        run.wake(clock_.now());
      }
      for (const ProbeMeasure& measure : run.take_left())
        show(measure);
    }
  }

 private:
  void send(int64_t request) {
    backend_.submit(llm::plain_call(requests_.next()), [&ends = ends_, &clock = clock_,
                                                        request](llm::Outcome outcome) {
      ends.add({.request = request, .at = clock.now(), .outcome = std::move(outcome)});
    });
  }

  static void report(ProbeRun& run, const Ends::One& one) {
    if (const auto* answer = std::get_if<llm::Answer>(&one.outcome)) {
      const llm::Usage& usage = answer->usage;
      return run.ended(one.at, one.request, ProbeEnd::kAnswered,
                       usage.completion_tokens > 0 ? usage.completion_tokens : usage.prompt_tokens);
    }
    const bool overloaded = std::get<llm::Failure>(one.outcome).overloaded;
    run.ended(one.at, one.request, overloaded ? ProbeEnd::kOverloaded : ProbeEnd::kFailed);
  }

  llm::Backend& backend_;
  ProbeRequests requests_;
  Ends& ends_;
  const Clock& clock_;
  Console& console_;
};

Result<upstream::UpstreamOptions> upstream_options(const ProbeCommand& command,
                                                   const Environment& environment) {
  const Result<http::Url> url = http::parse_url(command.upstream);
  if (!url) return url.error().in("--upstream");
  upstream::UpstreamOptions options;
  options.base = upstream::with_version(*url);
  options.request_timeout = kRequestTimeout;
  if (!command.api_key_env.empty()) {
    options.api_key = variable(environment, command.api_key_env);
    if (options.api_key.empty()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("--api-key-env: the variable {} is empty or not set; export "
                               "{}=... before the command",
                               command.api_key_env, command.api_key_env)};
    }
  }
  return options;
}

// Returns the name of the model to ask; empty where the rows of a file name it.
Result<std::string> model_to_ask(const ProbeCommand& command,
                                 const upstream::UpstreamFacts& facts) {
  if (!command.model.empty() || !command.input.empty()) return command.model;
  if (facts.models && facts.models->size() == 1) return facts.models->front();
  if (!facts.models) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} does not say which models it has; name one with --model",
                             command.upstream)};
  }
  return Error{ErrorKind::kInvalid,
               facts.models->empty()
                   ? fmt::format("{} has no models; load one there first", command.upstream)
                   : fmt::format("which model? Name one with --model: {} {}", command.upstream,
                                 upstream::models_text(*facts.models).substr(3))};
}

// Why not even one request was answered.
Error first_error(const llm::Failure& failure, const upstream::UpstreamFacts& facts) {
  std::string text = failure.message;
  if (failure.status == 404 && facts.models)
    text += fmt::format(" - {}", upstream::models_text(*facts.models));
  const bool of_request = failure.failure_class == llm::FailureClass::kRequest;
  return {of_request ? ErrorKind::kInvalid : ErrorKind::kUnavailable, std::move(text)};
}

ProbeRunOptions run_options(const ProbeCommand& command) {
  const Duration time = std::chrono::seconds(command.seconds_each);
  const bool bounded = !command.in_flight.empty() && time > Duration{};
  return {.in_flight = command.in_flight,
          .requests_each = command.requests_each,
          .time_each = time,
          .time_max =
              bounded ? kPatience * time : std::max<Duration>(kNumberTimeMax, kPatience * time)};
}

// Asks until one request is answered; the error when none is.
Result<void> warm_up(Prober& prober, const ProbeCommand& command,
                     const upstream::UpstreamFacts& facts) {
  for (int i = 1;; ++i) {
    const std::optional<llm::Failure> failure = prober.first();
    if (!failure) return {};
    const bool other_row_may_do =
        failure->failure_class == llm::FailureClass::kRequest && !command.input.empty();
    const bool passes =
        failure->failure_class == llm::FailureClass::kTransient && !failure->unreached;
    if ((!other_row_may_do && !passes) || i >= kFirstTries) return first_error(*failure, facts);
  }
}

void show_result(const ProbeRun& run, const ProbeFinding& finding,
                 const upstream::ServerIdentity& server, const Environment& environment,
                 bool as_json, Console& console) {
  const std::vector<ProbeMeasure> measures = run.measures();
  const std::string recommendation = probe_recommendation(finding, measures, server);
  if (as_json) {
    json::object end = to_json(finding);
    end["server"] = upstream::to_string(server);
    end["text"] = recommendation;
    console.event("end", end);
    return;
  }
  constexpr int kOutput = 1;
  const ProbePlot plot{.columns = terminal_width(kOutput),
                       .utf8 = is_terminal(kOutput) && locale_is_utf8(environment)};
  std::string text;
  if (!measures.empty()) text = probe_table(measures, plot) + "\n";
  console.print(text + recommendation);
}

}  // namespace

int probe_command(const ProbeCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  Ends ends;
  const SignalWatch signals([&](std::string_view) { ends.stop(); },
                            [] { std::_Exit(kProbeExitInterrupted); });
  const SystemClock clock;
  Console console({.json = command.json}, environment, clock);
  const auto fail = [&](const Error& error) {
    console.error(error.message);
    return batch::exit_code(error);
  };

  const Result<upstream::UpstreamOptions> options = upstream_options(command, environment);
  if (!options) return fail(options.error());
  const Result<uint64_t> files_max = raise_open_files();
  if (!files_max) return fail(files_max.error());
  http::Loop loop(clock);
  const auto client = std::make_unique<http::CurlClient>(loop, client_options(environment));
  const Result<upstream::UpstreamFacts> facts = upstream::ask_upstream(*client, *options);
  if (!facts) return fail(facts.error());
  const Result<std::string> model = model_to_ask(command, *facts);
  if (!model) return fail(model.error());
  Result<ProbeRequests> requests = ProbeRequests::open(command, *model);
  if (!requests) return fail(requests.error());
  const upstream::ServerIdentity server = upstream::identify_server(*client, *options);
  const std::string server_name = upstream::to_string(server);
  console.note(fmt::format("measuring {}{}{}", http::to_string(options->base),
                           model->empty() ? "" : fmt::format(", model {}", printable(*model)),
                           server_name.empty() ? "" : fmt::format(" ({})", server_name)));

  upstream::UpstreamBackend backend(*client, clock, *options);
  Prober prober(backend, *std::move(requests), ends, clock, console);
  if (const Result<void> warm = warm_up(prober, command, *facts); !warm) return fail(warm.error());
  ProbeRun run(run_options(command), clock.now());
  prober.run(run, [&](const ProbeMeasure& measure) {
    if (command.json) {
      console.event("step", to_json(measure));
    } else {
      console.note(probe_note(measure));
    }
  });
  ProbeFinding finding = run.finding();
  finding.interrupted = ends.stopped();
  show_result(run, finding, server, environment, command.json, console);
  if (finding.interrupted) return kProbeExitInterrupted;
  return finding.in_flight > 0 ? 0 : batch::exit_code(Error{ErrorKind::kUnavailable, ""});
}

}  // namespace windrow::app
