#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/memory/memory_json.h"
#include "app/commands/command_context.h"
#include "app/commands/commands.h"
#include "app/commands/fetch_models.h"
#include "app/commands/memory_input.h"
#include "app/commands/select_fleet.h"
#include "app/commands/serve_memory.h"
#include "app/process/console.h"
#include "app/process/open_files.h"
#include "app/process/signals.h"
#include "async/executor.h"
#include "base/clock.h"
#include "base/format.h"
#include "batch/job_runner.h"
#include "fleet/job_fleet.h"
#include "fleet/routed_models.h"
#include "memory/bank/bank_store.h"
#include "memory/consolidation/consolidation.h"
#include "memory/models/dispatched_models.h"
#include "memory/recall/recall.h"
#include "memory/retain/retain.h"
#include "memory/service/bank_registry.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr int kExitSomeFailed = 1;
constexpr int kExitBankUnusable = 2;
constexpr int kExitModel = 3;
constexpr int kExitMemoryStopped = 130;

// The names under which a model without one is served beside that of --embed, and that model.
constexpr std::string_view kChatName = "memory-chat";
constexpr std::string_view kEmbedName = "memory-embed";

// Facts of one retain: each is one transaction and one call of the embedding model.
constexpr size_t kItemsOfRetain = 64;

constexpr std::string_view kGoesOn =
    "what was consolidated is kept; the same command goes on with the rest";

// Models that are not there: for commands that can do without.
class NoModels final : public dispatch::Models {
 public:
  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint, std::string_view) override {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 404,
                        .code = "model_not_found",
                        .message = "no model was named",
                        .param = "model"};
  }
  uint64_t upstreams_of(std::string_view) override { return 0; }
};

// The models of the command, opened.
struct OpenModels {
  std::unique_ptr<fleet::JobFleet> fleet;  // null: there are none
  std::unique_ptr<dispatch::Models> routed;
  std::unique_ptr<memory::DispatchedModels> models;
};

Result<OpenModels> open_models(CommandContext& context) {
  const Settings& settings = context.settings();
  OpenModels open;
  std::string chat = settings.memory_model;
  std::string embed = settings.memory_embed;
  if (settings.models.empty() && settings.upstreams.empty()) {
    open.routed = std::make_unique<NoModels>();
    chat = embed = memory::kNoModel;
  } else {
    Result<FleetChoice> chosen = context.choose();
    if (!chosen) return chosen.error();
    const Result<void> fetched = fetch_models(chosen->models, context.environment(),
                                              context.clock(), context.disk(), context.console());
    if (!fetched) return fetched.error();
    open.fleet = make_job_fleet(*chosen, context.fleet_setting(requests_for(context.files_max())));
    const Result<void> opened = open.fleet->open({.began_unix_s = context.clock().unix_seconds()});
    if (!opened) return opened.error();
    if (const std::string note = open.fleet->note(); !note.empty()) context.console().note(note);
    open.routed = std::make_unique<fleet::RoutedModels>(*open.fleet);
    if (!settings.upstreams.empty() && chat.empty() && embed.empty()) {
      return Error{ErrorKind::kInvalid,
                   "the server's models are not named; add --memory-model NAME, and --memory-embed "
                   "NAME if it has one that embeds texts"};
    }
    // Of models in this process the first one that is not for embeddings chats.
    for (const fleet::JobRoute& route : open.fleet->routes()) {
      if (chat.empty() && !route.raw && route.model != embed) chat = route.model;
    }
    if (chat.empty()) chat = memory::kNoModel;
    if (embed.empty()) embed = memory::kNoModel;
  }
  open.models = std::make_unique<memory::DispatchedModels>(
      *open.routed,
      memory::DispatchedModelsOptions{.chat_model = chat, .embed_model = embed, .waits = true});
  return open;
}

Result<memory::BankConfig> config_of(const Settings& settings, memory::BankStore& store) {
  const Result<memory::BankConfig> defaults = bank_defaults(settings);
  if (!defaults) return defaults.error();
  const Result<memory::Bank> bank = store.bank();
  if (!bank) return bank.error();
  return memory::with_overrides(*defaults, bank->overrides);
}

// The texts of failures are written for clients of a server; those of the bank's file say here what
// its owner can do.
int fail(Console& console, const std::string& bank, const llm::Failure& failure) {
  if (failure.code == "disk_full") {
    console.error(fmt::format("the disk of {} is full; free space there, and try again", bank));
    return kExitBankUnusable;
  }
  if (failure.code == "storage_error") {
    console.error(
        fmt::format("{} could not be read or written; check its disk, and try again", bank));
    return kExitBankUnusable;
  }
  console.error(failure.message);
  // Also a key that the server refuses, and a model that it does not have.
  const bool is_of_model = failure.status >= 500 || failure.status == 429 ||
                           (failure.status >= 401 && failure.status <= 404);
  return is_of_model ? kExitModel : kExitBankUnusable;
}

// --- retain ------------------------------------------------------------------------------------

// The end of the items that are retained together from `begin` on. Items of one document stay
// together where they can: told in parts, the last part would be all of it.
size_t end_of_part(const std::vector<memory::RetainItem>& items, size_t begin) {
  size_t end = std::min(begin + kItemsOfRetain, items.size());
  while (end < items.size() && !items[end].document_id.empty() &&
         items[end].document_id == items[end - 1].document_id)
    ++end;
  return end;
}

// How to go on where not all items are stored.
void tell_rest(Console& console, const MemoryInput& input, size_t stored) {
  if (stored == 0) {
    console.note("nothing was stored");
    return;
  }
  console.note(
      fmt::format("{} of {} items are stored; retain the others with the input from line "
                  "{} on",
                  stored, input.items.size(), input.lines.at(stored)));
}

int retain(const MemoryCommand& command, CommandContext& context, memory::BankStore& store,
           MemoryInput input, StopRelay& relay) {
  const Result<OpenModels> open = open_models(context);
  if (!open) return context.fail(open.error());
  const Result<memory::BankConfig> config = config_of(context.settings(), store);
  if (!config) return context.fail(config.error());
  Console& console = context.console();
  const StopRelay::Attachment stops(
      relay, StopRelay::Target{[&] { console.note("stopping after the items that are out"); },
                               [] { std::_Exit(kExitMemoryStopped); }});
  const size_t all = input.items.size();
  std::set<std::string> documents;  // that are stored
  size_t facts = 0;
  for (size_t at = 0; at < all;) {
    if (relay.stopping()) {
      console.end_progress();
      tell_rest(console, input, at);
      return kExitMemoryStopped;
    }
    const size_t end = end_of_part(input.items, at);
    std::vector<memory::RetainItem> part;
    for (; at < end; ++at) {
      memory::RetainItem& item = input.items[at];
      if (documents.contains(item.document_id)) item.update = memory::DocumentUpdate::kAppend;
      part.push_back(std::move(item));
    }
    const memory::RetainOutcome outcome =
        memory::retain(store, *open->models, *config, part, {}, context.clock());
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      console.end_progress();
      const int code = fail(console, command.bank, *failure);
      tell_rest(console, input, end - part.size());
      return code;
    }
    for (const memory::RetainItem& item : part)
      if (!item.document_id.empty()) documents.insert(item.document_id);
    facts += std::get<memory::RetainReport>(outcome).memories.size();
    console.line(fmt::format("{} of {} items, {} facts", with_thousands(static_cast<int64_t>(end)),
                             with_thousands(static_cast<int64_t>(all)),
                             with_thousands(static_cast<int64_t>(facts))));
  }
  console.end_progress();
  console.event("end", {{"items", all}, {"facts", facts}});
  console.note(fmt::format("{} items became {} facts of {}",
                           with_thousands(static_cast<int64_t>(all)),
                           with_thousands(static_cast<int64_t>(facts)), command.bank));
  return 0;
}

// --- recall ------------------------------------------------------------------------------------

int recall(const MemoryCommand& command, CommandContext& context, memory::BankStore& store) {
  const Result<OpenModels> open = open_models(context);
  if (!open) return context.fail(open.error());
  const Result<memory::BankConfig> config = config_of(context.settings(), store);
  if (!config) return context.fail(config.error());
  memory::RecallQuery query{
      .text = command.argument,
      .types = {},
      .tokens_max = command.tokens_max,
      .tags = {.tags = memory::Tags(command.tags), .match = memory::TagsMatch::kAny, .groups = {}},
      .trace = context.settings().json};
  const memory::RecallOutcome outcome = memory::recall(store, *open->models, *config, query, {});
  if (const auto* failure = std::get_if<llm::Failure>(&outcome))
    return fail(context.console(), command.bank, *failure);
  const auto& result = std::get<memory::RecallResult>(outcome);
  if (context.settings().json) {
    context.console().print(json::serialize(api::recall_json(result, false)) + "\n");
    return 0;
  }
  std::string text;
  for (const memory::Recalled& recalled : result.memories) {
    text += fmt::format("{:.4f}  {:<11}  {}{}\n", recalled.scores.final_score,
                        to_string(recalled.memory.type), recalled.memory.text,
                        recalled.memory.tags.is_empty()
                            ? ""
                            : fmt::format("  [{}]", fmt::join(recalled.memory.tags.list(), ", ")));
  }
  if (result.memories.empty()) context.console().note("nothing was found");
  context.console().print(text);
  return 0;
}

// --- consolidate -------------------------------------------------------------------------------

int consolidate(const MemoryCommand& command, CommandContext& context, memory::BankStore& store,
                StopRelay& relay) {
  const Result<OpenModels> open = open_models(context);
  if (!open) return context.fail(open.error());
  const Result<memory::BankConfig> config = config_of(context.settings(), store);
  if (!config) return context.fail(config.error());
  Console& console = context.console();
  if (!open->fleet) {
    return context.fail(Error{ErrorKind::kInvalid,
                              "no model was named; add --model MODEL.gguf, or --upstream URL and "
                              "--memory-model NAME"});
  }
  if (const auto fault = open->models->chat_fault(config->chat_model)) {
    console.error(fault->message);
    return kExitBankUnusable;
  }
  std::stop_source cancel;
  const StopRelay::Attachment stops(
      relay, StopRelay::Target{[&] {
                                 console.note("stopping after the calls that are out");
                                 cancel.request_stop();
                               },
                               [] { std::_Exit(kExitMemoryStopped); }});
  const memory::ConsolidationOptions options{.config = *config,
                                             .caller = {},
                                             .in_flight_max = config->consolidation_llm_parallelism,
                                             .bank = command.bank,
                                             .new_id = {}};
  const memory::ConsolidationListener listener{
      .on_progress =
          [&](const memory::ConsolidationProgress& progress) {
            console.line(fmt::format(
                "{} of {} facts, {} observations created, {} updated, {} calls in flight",
                with_thousands(progress.processed), with_thousands(progress.total),
                with_thousands(progress.counts.observations_created),
                with_thousands(progress.counts.observations_updated), progress.in_flight));
            return true;
          },
      .on_line =
          [&](std::string_view line) {
            if (command.verbose) console.note(line);
          }};
  constexpr int32_t kThreads = 4;
  async::Executor executor(kThreads);
  const memory::ConsolidationReport report = memory::consolidate(
      store, *open->models, executor, context.clock(), options, listener, cancel.get_token());
  console.end_progress();
  const memory::ConsolidationCounts& counts = report.counts;
  console.event("end", {{"facts", counts.facts_processed},
                        {"observations_created", counts.observations_created},
                        {"observations_updated", counts.observations_updated},
                        {"observations_deleted", counts.observations_deleted},
                        {"observations_merged", counts.observations_merged},
                        {"facts_failed", counts.facts_failed},
                        {"llm_calls", counts.llm_calls},
                        {"input_tokens", counts.input_tokens},
                        {"cached_tokens", counts.cached_tokens},
                        {"output_tokens", counts.output_tokens},
                        {"wall_s", report.wall_s},
                        {"mean_in_flight", report.mean_in_flight},
                        {"error", report.error}});
  const bool has_run = report.end != memory::ConsolidationEnd::kNoNewMemories;
  if (has_run && !report.table.empty()) console.show(report.table);
  if (!report.error.empty()) console.error(report.error);
  switch (report.end) {
    case memory::ConsolidationEnd::kNoNewMemories:
      console.note("there is no fact to consolidate");
      return 0;
    case memory::ConsolidationEnd::kCompleted:
      if (counts.facts_failed == 0) return 0;
      console.note(
          fmt::format("{} of {} facts could not be consolidated, and are left out by the "
                      "next runs",
                      counts.facts_failed, counts.facts_processed));
      return kExitSomeFailed;
    case memory::ConsolidationEnd::kCancelled:
      console.note(kGoesOn);
      return kExitMemoryStopped;
    case memory::ConsolidationEnd::kStopped:
    case memory::ConsolidationEnd::kFailed:
      break;
  }
  if (report.retry_after) {
    console.note(
        fmt::format("the server asks for a pause of {:.0f} s", seconds(*report.retry_after)));
  }
  console.note(kGoesOn);
  return report.is_of_bank ? kExitBankUnusable : kExitModel;
}

// --- show --------------------------------------------------------------------------------------

int show(const MemoryCommand& command, CommandContext& context, memory::BankStore& store) {
  const Result<memory::BankStats> stats = store.stats();
  if (!stats) return context.fail(stats.error());
  const Result<memory::MemoryPage> page = store.list(
      {.types = {memory::MemoryType::kObservation},
       .text = {},
       .document_id = {},
       .tags = {.tags = memory::Tags(command.tags), .match = memory::TagsMatch::kAny, .groups = {}},
       .limit = LLONG_MAX});
  if (!page) return context.fail(page.error());
  if (context.settings().json) {
    const Result<memory::Bank> bank = store.bank();
    if (!bank) return context.fail(bank.error());
    json::array observations;
    for (const memory::Memory& observation : page->memories)
      observations.push_back(api::memory_detail(observation, {}));
    json::object object{{"stats", api::stats_json(bank->id, *stats)},
                        {"observations", std::move(observations)}};
    context.console().print(json::serialize(object) + "\n");
    return 0;
  }
  std::string text = fmt::format(
      "{}: {} facts ({} of the bank's own agent), {} observations; {} facts wait to be "
      "consolidated, "
      "{} failed\n",
      command.bank, stats->facts_world + stats->facts_experience, stats->facts_experience,
      stats->observations, stats->pending_consolidation, stats->failed_consolidation);
  std::vector<memory::Memory> observations = page->memories;
  std::ranges::sort(observations, [](const auto& one, const auto& other) {
    return std::tie(one.tags, other.proof_count, one.text) <
           std::tie(other.tags, one.proof_count, other.text);
  });
  const memory::Tags* scope = nullptr;
  for (const memory::Memory& observation : observations) {
    if (scope == nullptr || *scope != observation.tags) {
      text += observation.tags.is_empty()
                  ? "\nuntagged\n"
                  : fmt::format("\n{}\n", fmt::join(observation.tags.list(), ", "));
      scope = &observation.tags;
    }
    text += fmt::format("  {:>4} x  {}\n", observation.proof_count, observation.text);
  }
  context.console().print(text);
  return 0;
}

}  // namespace

int memory_command(const MemoryCommand& command, const Environment& environment) {
  // Before any other thread, so that all of them leave signals to the watch.
  StopRelay relay;
  const SignalWatch signals([&](std::string_view) { relay.stop(); }, [&] { relay.stop_now(); });
  CommandContext context(environment);
  std::vector<GivenFlag> flags = command.flags;
  if (!command.embed.empty()) {
    // Beside a second model the first one needs a name.
    for (GivenFlag& flag : flags) {
      if (flag.row == find_setting("model") && flag.text.find('=') == std::string::npos)
        flag.text = fmt::format("{}={}", kChatName, flag.text);
    }
    flags.push_back({.row = find_setting("model"),
                     .written = "--embed",
                     .text = fmt::format("{}={}", kEmbedName, command.embed)});
    flags.push_back({.row = find_setting("memory-embed"),
                     .written = "--embed",
                     .text = std::string(kEmbedName)});
  }
  if (const Result<void> started = context.start(flags, SettingsOf::kRun); !started)
    return context.fail(started.error());
  // Before a bank is made.
  const bool creates = command.verb == MemoryVerb::kRetain;
  Result<MemoryInput> input = MemoryInput();
  if (creates) input = read_memory_input(command.argument, command.tags);
  if (!input) return context.fail(input.error());
  if (const Result<memory::BankConfig> defaults = bank_defaults(context.settings()); !defaults)
    return context.fail(defaults.error());
  const Result<std::shared_ptr<memory::BankStore>> store =
      memory::open_bank_file(command.bank, context.disk(), context.clock(), creates);
  if (!store) return context.fail(store.error());
  std::optional<StopRelay::Attachment> leaves(
      std::in_place, relay,
      StopRelay::Target{[] { std::_Exit(kExitMemoryStopped); },
                        [] { std::_Exit(kExitMemoryStopped); }});
  switch (command.verb) {
    case MemoryVerb::kRetain:
      leaves.reset();
      return retain(command, context, **store, *std::move(input), relay);
    case MemoryVerb::kRecall:
      return recall(command, context, **store);
    case MemoryVerb::kConsolidate:
      leaves.reset();
      return consolidate(command, context, **store, relay);
    case MemoryVerb::kShow:
      break;
  }
  return show(command, context, **store);
}

}  // namespace windrow::app
