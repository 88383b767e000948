#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "app/commands/commands.h"
#include "app/commands/ps_text.h"
#include "app/commands/session_client.h"
#include "app/process/console.h"
#include "app/process/signals.h"
#include "app/settings/fleet_settings.h"
#include "app/settings/upstream_settings.h"
#include "base/clock.h"
#include "batch/job_runner.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "json/parse.h"
#include "json/writer.h"

namespace windrow::app {
namespace {

constexpr int kPsInterrupted = 130;

Result<boost::json::value> ask_json(const SessionClient& server, const std::string& target,
                                    const std::stop_token& stop) {
  const Result<std::string> body = server.ask({.target = target}, stop);
  if (!body) return body.error();
  auto value = parse_json(*body);
  if (auto* good = std::get_if<boost::json::value>(&value)) return std::move(*good);
  return Error{ErrorKind::kInvalid,
               fmt::format("the reply to {} is not JSON; is it a Windrow server? --url names "
                           "another one",
                           target)};
}

Result<PsReplies> ask_all(const SessionClient& server, const std::string& url,
                          const std::stop_token& stop) {
  PsReplies replies{.url = url, .models = {}, .requests = {}, .metrics = {}};
  Result<boost::json::value> models = ask_json(server, "/v1/models", stop);
  if (!models) return models.error();
  replies.models = *std::move(models);
  Result<boost::json::value> requests = ask_json(server, "/v1/windrow/requests", stop);
  if (!requests) return requests.error();
  replies.requests = *std::move(requests);
  // They say more about each model, and are not worth an error.
  if (Result<std::string> metrics = server.ask({.target = "/metrics"}, stop))
    replies.metrics = *std::move(metrics);
  return replies;
}

}  // namespace

int ps_command(const PsCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  std::stop_source stop;
  const SignalWatch signals([&](std::string_view) { stop.request_stop(); },
                            [] { std::_Exit(kPsInterrupted); });
  const SystemClock clock;
  Console console({}, environment, clock);
  const auto fail = [&](const Error& error) {
    if (stop.stop_requested()) return kPsInterrupted;
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
  const Result<PsReplies> replies = ask_all(server, http::origin(*url), stop.get_token());
  if (!replies) return fail(replies.error());
  if (command.json) {
    const Result<boost::json::object> shown = ps_json(*replies);
    if (!shown) return fail(shown.error());
    console.print(pretty_json(*shown));
    return 0;
  }
  const Result<std::string> text = ps_text(*replies);
  if (!text) return fail(text.error());
  console.print(printable(*text));
  return 0;
}

}  // namespace windrow::app
