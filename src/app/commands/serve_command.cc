#include "app/commands/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/api_server.h"
#include "api/keys/key_accounts.h"
#include "api/keys/keys.h"
#include "app/commands/command_context.h"
#include "app/commands/fetch_models.h"
#include "app/commands/select_fleet.h"
#include "app/commands/serve_control.h"
#include "app/commands/serve_memory.h"
#include "app/commands/serve_sessions.h"
#include "app/commands/serve_storage.h"
#include "app/commands/served_models.h"
#include "app/process/console.h"
#include "app/process/line_log.h"
#include "app/process/open_files.h"
#include "app/process/service_manager.h"
#include "app/process/signals.h"
#include "app/settings/model_settings.h"
#include "app/settings/run_options.h"
#include "app/settings/serve_options.h"
#include "base/clock.h"
#include "base/format.h"
#include "batch/job_runner.h"
#include "fleet/chat_template_choice.h"
#include "http/loop.h"
#include "store/disk.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr int kExitCutOff = 130;
constexpr size_t kMebibyte = size_t{1} << 20;

// How long a server that has to stop at once may take to end its connections.
constexpr Duration kDisconnectGrace = std::chrono::seconds(2);

api::ApiOptions api_options(const ServeOptions& options, const Settings& settings) {
  api::ApiOptions api;
  api.http.address = options.listen.host;
  api.http.port = options.listen.port;
  if (!settings.tls_cert.empty())
    api.http.tls = http::TlsFiles{settings.tls_cert, settings.tls_key};
  api.http.request.body_bytes_max = static_cast<size_t>(settings.body_mb_max) * kMebibyte;
  api.kept_bytes_max = static_cast<size_t>(settings.keep_items_mb) * kMebibyte;
  api.cors = options.cors;
  api.open_metrics = settings.metrics_open;
  for (const auto& [field, value] : settings.body_defaults)
    api.body_defaults[field] = value;
  api.unknown_fields = unknown_fields_of(settings);
  api.coalesce = settings.dedupe;
  api.load_wait = std::chrono::seconds(settings.load_wait_s);
  api.log_prompts = settings.log_prompts;
  api.version = WINDROW_VERSION;
  api.metrics = std::make_shared<api::ServeMetrics>();
  return api;
}

json::array names_of(const std::vector<fleet::FleetModel>& models) {
  json::array names;
  for (const fleet::FleetModel& model : models)
    names.emplace_back(model.name);
  return names;
}

// "chat, embed and 7 more"
std::string text_of(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 6;
  const std::string more =
      names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "";
  return fmt::format("{}{}",
                     fmt::join(std::span(names).first(std::min(names.size(), kNamed)), ", "), more);
}

// "chat, embed; loaded when asked for: large".
std::string text_of(const std::vector<fleet::FleetModel>& models) {
  std::vector<std::string> loaded;
  std::vector<std::string> absent;
  for (const fleet::FleetModel& model : models) {
    const bool is_absent =
        model.residency && model.residency->status().state != llm::LoadState::kLoaded;
    (is_absent ? absent : loaded).push_back(model.name);
  }
  if (absent.empty()) return text_of(loaded);
  return fmt::format("{}{}loaded when asked for: {}", text_of(loaded), loaded.empty() ? "" : "; ",
                     text_of(absent));
}

// Lets requests in flight finish, and cuts them off when that is requested or takes too long.
// False: it was requested.
bool drain(api::ApiServer& server, ServeStorage& storage, ServeMemory& memory,
           ServeSessions& sessions, const std::vector<fleet::FleetModel>& models, Duration grace,
           StopState& stop, Console& console) {
  const std::future<void> stopping = std::async(std::launch::async, [&] {
    const std::future<void> batches = std::async(std::launch::async, [&] { storage.stop(grace); });
    const std::future<void> banks = std::async(std::launch::async, [&] { memory.stop(); });
    server.stop(grace);
    // Turns are requests, which may finish.
    sessions.stop();
    batches.wait();
    banks.wait();
    stop.set_stopped();
  });
  if (stop.wait_until_stopped()) return true;
  console.note("stopping at once");
  server.give_up();
  for (const fleet::FleetModel& model : models)
    model.dispatcher->cancel_all();
  // A client that does not read its answer is not waited for: nothing can be lost.
  if (!stop.wait_until_stopped(kDisconnectGrace)) std::_Exit(kExitCutOff);
  return false;
}

void reload_certificate(api::ApiServer& server, const Settings& settings, Console& console) {
  if (const Result<void> read = server.reload_tls(); !read) {
    console.error(
        fmt::format("{}; new connections get the earlier certificate until both files "
                    "are right and SIGHUP comes again",
                    read.error().message));
    return;
  }
  console.note(
      fmt::format("{} was read again; new connections get this certificate", settings.tls_cert));
}

void warn_without_keys(const Settings& settings, const api::KeyRingHolder& keys, Console& console) {
  if (!keys.now()->keys().empty()) return;
  console.warn(
      fmt::format("{0} has no keys, so every request is refused with 401; `windrow keys add {0} "
                  "NAME` makes one",
                  settings.api_keys));
}

void warn_about_access(const Settings& settings, const api::KeyFile* keys, Console& console) {
  if (settings.insecure_no_keys)
    console.warn(fmt::format("everyone who can reach {} may send requests: there are no keys",
                             settings.listen));
  if (keys == nullptr) return;
  if (const std::string warning = keys->warning(); !warning.empty()) console.warn(warning);
  warn_without_keys(settings, *keys->keys(), console);
}

}  // namespace

int serve_command(const ServeCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  StopRelay relay;
  Reload reload;
  const SignalWatch signals([&](std::string_view) { relay.stop(); }, [&] { relay.stop_now(); },
                            [&] { reload.run(); });

  // The settings, and everything that can be checked in them.
  CommandContext context(environment);
  if (const Result<void> started = context.start(command.flags, SettingsOf::kServe); !started)
    return context.fail(started.error());
  const Settings& settings = context.settings();
  const Clock& clock = context.clock();
  store::Disk& disk = context.disk();
  Console& console = context.console();
  const Result<ServeOptions> options = serve_options(settings);
  if (!options) return context.fail(options.error());
  Result<FleetChoice> chosen = context.choose();
  if (!chosen) return context.fail(chosen.error());
  Result<std::vector<fleet::ModelChoice>> tokenizers = tokenizer_choices(settings);
  if (!tokenizers) return context.fail(tokenizers.error());
  if (const Result<void> read = fleet::read_piped_templates(*tokenizers); !read)
    return context.fail(read.error());
  chosen->tokenizers = *std::move(tokenizers);
  if (const Result<void> checked = check_names(settings, chosen->models); !checked)
    return context.fail(checked.error());
  std::unique_ptr<api::KeyFile> key_file;
  if (!settings.api_keys.empty()) {
    Result<std::unique_ptr<api::KeyFile>> opened = api::KeyFile::open(disk, settings.api_keys);
    if (!opened) return context.fail(opened.error().in("--api-keys"));
    key_file = *std::move(opened);
  }
  const Result<std::unique_ptr<store::FileLock>> data_dir = hold_data_dir(settings, disk);
  if (!data_dir) return context.fail(data_dir.error());
  std::shared_ptr<api::KeyAccounts> accounts;
  if (key_file) accounts = std::make_shared<api::KeyAccounts>(clock, key_file->keys());
  Result<ServeStorage> storage = ServeStorage::open(settings, disk, clock, console, accounts.get());
  if (!storage) return context.fail(storage.error());
  Result<ServeMemory> memory = ServeMemory::open(settings, disk, clock, console, accounts.get());
  if (!memory) return context.fail(memory.error());
  Result<ServeSessions> sessions = ServeSessions::open(settings, clock, accounts.get());
  if (!sessions) return context.fail(sessions.error());
  std::unique_ptr<LineLog> log;
  if (settings.log != "none") {
    Result<std::unique_ptr<LineLog>> opened =
        LineLog::open(settings.log, [&console](const std::string& why) { console.warn(why); });
    if (!opened) return context.fail(opened.error());
    log = *std::move(opened);
  }
  warn_about_access(settings, key_file.get(), console);
  api::ApiOptions api = api_options(*options, settings);
  const ClientLimits limits = client_limits(context.files_max(), api.http.connections_max,
                                            !chosen->upstreams.empty(), !settings.data_dir.empty());
  api.http.connections_max = limits.connections_max;
  if (!limits.warning.empty()) console.warn(limits.warning);

  // Until requests are accepted there is nothing to finish.
  ServiceManager service(environment);
  std::optional<StopRelay::Attachment> until_ready;
  const auto leave = [&] {
    service.stopping("stopped while loading");
    console.note("stopped before it was ready");
    std::_Exit(0);
  };
  until_ready.emplace(relay, StopRelay::Target{leave, leave});

  // The port, which answers that models are being loaded.
  ArrivingRequests arriving;
  const auto fetch = [&](std::vector<fleet::ModelChoice>& models) {
    return fetch_models(models, environment, clock, disk, console);
  };
  const std::unique_ptr<fleet::ServerFleet> fleet =
      make_server_fleet(*chosen, fetch, context.fleet_setting(limits.requests_max));
  api::ModelRegistry catalogue;
  http::Loop loop(clock);
  api.accounts = accounts;
  if (log) api.log = [&log](std::string line) { log->write(std::move(line)); };
  api.read_models = [&fleet] { return model_readings(*fleet); };
  api.parts.push_back(storage->part(limits.transfers_max));
  api.parts.push_back(memory->part());
  api.parts.push_back(sessions->part());
  api.are_unreachable = [&fleet](uint64_t upstreams) { return fleet->is_unreachable(upstreams); };
  const std::shared_ptr<api::ServeMetrics> metrics = api.metrics;
  const Result<std::unique_ptr<api::ApiServer>> server =
      api::ApiServer::open(loop, clock, catalogue, std::move(api));
  if (!server) return context.fail(server.error());
  const ArrivingRequests::Source reading(arriving, **server);
  const std::string url =
      local_url({options->listen.host, (*server)->port()}, !settings.tls_cert.empty());
  console.note(fmt::format("listening on {}", url));
  console.event("listening", {{"url", url}});

  // Keys, log and certificate, which SIGHUP reads and opens again.
  std::optional<KeyWatch> key_watch;
  if (key_file) {
    const std::shared_ptr<api::KeyRingHolder> keys = key_file->keys();
    key_watch.emplace(std::move(key_file), [&, keys](const Result<bool>& changed) {
      if (changed) {
        console.note(
            fmt::format("{} has changed; its keys are valid from now on", settings.api_keys));
        warn_without_keys(settings, *keys, console);
      } else {
        console.error(changed.error().message + "; the earlier keys stay valid");
      }
    });
  }
  reload.set([&] {
    if (key_watch) key_watch->read_now();
    if (!settings.tls_cert.empty()) reload_certificate(**server, settings, console);
    if (!log) return;
    if (const Result<void> reopened = log->reopen(); !reopened)
      console.error(reopened.error().message);
  });

  // The models.
  service.status("loading");
  const Watchdog watchdog(service,
                          [&loop](std::function<void()> alive) { loop.post(std::move(alive)); });
  const TimePoint began_at = clock.now();
  const Result<void> opened = fleet->open(
      {.step_observer = [metrics](const std::string& model) { return metrics->steps(model); },
       .arriving = [&arriving] { return arriving.count(); }});
  if (!opened) {
    reload.set({});
    return context.fail(opened.error());
  }
  const std::vector<fleet::FleetModel> models = fleet->models();
  add_models(catalogue, models);
  fleet->watch([&] { update_models(catalogue, fleet->models()); });
  catalogue.set_state(api::ServeState::kReady);
  RegistryModels named_models(catalogue, [&fleet] { return fleet->is_unreachable(0); });
  storage->start(named_models);
  memory->start(named_models, catalogue);
  sessions->start(named_models, catalogue, *fleet, loop);
  if (const std::string note = fleet->note(); !note.empty() && !chosen->upstreams.empty())
    console.note(note);
  console.note(
      fmt::format("ready after {}: {}", human_duration(clock.now() - began_at), text_of(models)));
  console.event("ready", {{"url", url}, {"models", names_of(models)}});
  service.ready(fmt::format("serving {} at {}", text_of(models), url));

  // Until a signal stops it.
  StopState stop;
  until_ready.reset();
  const StopRelay::Attachment stops(
      relay, StopRelay::Target{[&] { stop.request_stop(); }, [&] { stop.request_stop_now(); }});
  stop.wait_for_request();
  console.note(
      fmt::format("stopping: running requests may finish within {} s; press Ctrl-C again to end "
                  "them at once",
                  settings.grace_s));
  console.event("stopping", {});
  service.stopping("finishing what runs");
  catalogue.set_state(api::ServeState::kStopping);
  const bool finished = drain(**server, *storage, *memory, *sessions, models,
                              std::chrono::seconds(settings.grace_s), stop, console);
  fleet->watch({});
  reload.set({});
  for (const fleet::FleetModel& model : models)
    model.dispatcher->cancel_all();
  console.event("end", {{"cut_off", !finished}});
  return finished ? 0 : kExitCutOff;
}

}  // namespace windrow::app
