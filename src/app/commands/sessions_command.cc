#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "app/commands/commands.h"
#include "app/commands/session_client.h"
#include "app/commands/session_text.h"
#include "app/process/console.h"
#include "app/process/new_file.h"
#include "app/process/signals.h"
#include "app/settings/fleet_settings.h"
#include "app/settings/upstream_settings.h"
#include "base/clock.h"
#include "base/format.h"
#include "batch/job_runner.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "json/parse.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr int kSessionsInterrupted = 130;

// A live line of a download is worth its while so often.
constexpr uint64_t kLineBytes = uint64_t{1} << 20;

std::string target_of(const std::string& session, std::string_view rest) {
  return fmt::format("/sessions/{}{}", session, rest);
}

Result<json::value> parsed(const std::string& text) {
  auto value = parse_json(text);
  if (auto* good = std::get_if<json::value>(&value)) return std::move(*good);
  return Error{ErrorKind::kInvalid,
               "the server's answer is not JSON; is it a Windrow server? --url names another one"};
}

// Where a command asks and prints.
struct SessionsRun {
  const SessionsCommand& command;
  const SessionClient& server;
  const Clock& clock;
  Console& console;
  std::stop_token stop;
};

Result<void> list_sessions(const SessionsRun& run) {
  const Result<std::string> body = run.server.ask({.target = "/sessions"}, run.stop);
  if (!body) return body.error();
  if (run.command.json) {
    run.console.print(*body + "\n");
    return {};
  }
  const Result<json::value> list = parsed(*body);
  if (!list) return list.error();
  const Result<std::string> text =
      session_list_text(*list, static_cast<double>(run.clock.unix_seconds()));
  if (!text) return text.error();
  run.console.print(printable(*text));
  return {};
}

Result<void> show_session(const SessionsRun& run) {
  const Result<std::string> body =
      run.server.ask({.target = target_of(run.command.id, "?records=none")}, run.stop);
  if (!body) return body.error();
  if (run.command.json) {
    run.console.print(*body + "\n");
    return {};
  }
  const Result<json::value> session = parsed(*body);
  if (!session) return session.error();
  // What the list adds is not worth an error: another server may have none.
  const Result<std::string> others = run.server.ask({.target = "/sessions"}, run.stop);
  const Result<json::value> list = others ? parsed(*others) : Result<json::value>(others.error());
  const Result<std::string> text =
      session_text(*session, list ? session_in(*list, run.command.id) : nullptr);
  if (!text) return text.error();
  run.console.print(printable(*text));
  return {};
}

Result<void> export_session(const SessionsRun& run) {
  SessionQuestion question{.target = target_of(run.command.id, "?records=all")};
  if (!run.command.records) {
    json::object body;
    if (run.command.max_seq_len > 0) body["max_seq_len"] = run.command.max_seq_len;
    question = {.method = http::Method::kPost,
                .target = target_of(run.command.id, "/samples"),
                .body = json::serialize(body)};
  }
  store::PosixDisk disk;
  Result<std::unique_ptr<NewFile>> file = NewFile::open(disk, run.command.output);
  if (!file) return file.error();
  uint64_t told = 0;
  const auto take = [&](std::string_view piece) {
    Result<void> written = (*file)->append(piece);
    if ((*file)->bytes() >= told + kLineBytes) {
      told = (*file)->bytes();
      run.console.line(fmt::format("{}: {}", run.command.output, human_bytes(told)));
    }
    return written;
  };
  Result<void> done = run.server.download(question, take, run.stop);
  if (done) done = (*file)->finish();
  run.console.end_progress();
  if (!done) return done;
  run.console.note(fmt::format("{}: {} of session {}, {}", run.command.output,
                               run.command.records ? "records" : "samples", run.command.id,
                               human_bytes((*file)->bytes())));
  return {};
}

Result<void> run_verb(const SessionsRun& run) {
  switch (run.command.verb) {
    case SessionsVerb::kList:
      return list_sessions(run);
    case SessionsVerb::kShow:
      return show_session(run);
    case SessionsVerb::kExport:
      return export_session(run);
  }
  return {};
}

}  // namespace

int sessions_command(const SessionsCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  std::stop_source stop;
  const SignalWatch signals([&](std::string_view) { stop.request_stop(); },
                            [] { std::_Exit(kSessionsInterrupted); });
  const SystemClock clock;
  Console console({}, environment, clock);
  const auto fail = [&](const Error& error) {
    console.error(error.message);
    return batch::exit_code(error);
  };

  const Result<http::Url> url = http::parse_url(command.url);
  if (!url) return fail(url.error().in("--url"));
  std::string api_key;
  if (!command.api_key_env.empty()) {
    Result<std::string> key = key_of_variable(command.api_key_env, "--api-key-env", environment);
    if (!key) return fail(key.error());
    api_key = *std::move(key);
  }
  http::Loop loop(clock);
  const auto client = std::make_unique<http::CurlClient>(loop, client_options(environment));
  const SessionClient server(*client, *url, std::move(api_key));
  const Result<void> done = run_verb({.command = command,
                                      .server = server,
                                      .clock = clock,
                                      .console = console,
                                      .stop = stop.get_token()});
  if (done) return 0;
  if (!stop.stop_requested()) return fail(done.error());
  console.note("interrupted; nothing was written");
  return kSessionsInterrupted;
}

}  // namespace windrow::app
