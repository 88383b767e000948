#include "app/commands/exec_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "app/settings/program_settings.h"

namespace windrow::app {
namespace {

// What is kept for a trace, the newest: some 100 MB at most. A viewer shows no more either.
constexpr size_t kSpansMax = 200'000;
constexpr size_t kPassesMax = 50'000;

program::DispatchedProgramModelsOptions models_options(fleet::JobFleet& fleet,
                                                       fleet::JobHooks hooks,
                                                       const Settings& settings) {
  program::DispatchedProgramModelsOptions options{
      .tokenizer_of = [&fleet](std::string_view model) { return fleet.tokenizer(model); },
      .embed_model = settings.program_embed_model,
      .output_tokens_default = static_cast<int32_t>(settings.output_tokens_default)};
  if (!hooks.before_row && !hooks.expected_cost) return options;
  // A call is to the fleet what a row of `run` is.
  options.expected_cost =
      [before = std::move(hooks.before_row), cost = std::move(hooks.expected_cost)](
          const llm::Request& request) -> std::variant<dispatch::Cost, llm::Failure> {
    if (before) before(request);
    if (!cost) return dispatch::Cost{0};
    return cost(request);
  };
  return options;
}

fleet::NamingHelp naming_help() {
  return {
      .of_chats = "name one with --program-model, or in the program: Context.new{model = \"NAME\"}",
      .of_embeddings =
          "name one with --program-embed-model, or in the program: "
          "ctx:embed(texts, {model = \"NAME\"})"};
}

// The model of servers that contexts ask where neither they nor --program-model name one; empty:
// there is none.
std::string server_model(const fleet::JobFleet& fleet, const Settings& settings) {
  const std::vector<fleet::JobRoute> routes = fleet.routes();
  if (!settings.program_model.empty() || !routes.front().raw) return "";
  return routes.front().listed.size() == 1 ? routes.front().listed.front() : "";
}

program::ProgramLoopOptions loop_options(const Settings& settings, Console& console) {
  return {.limits = program_limits(settings),
          .output_tokens_default = static_cast<int32_t>(settings.output_tokens_default),
          .on_log = [&console](std::string_view id, std::string_view line) {
            console.note(id.empty() ? std::string(line) : fmt::format("{}: {}", id, line));
          }};
}

}  // namespace

ExecTrace::ExecTrace(std::string path, const Clock& clock)
    : path_(std::move(path)), passes_(clock, path_.empty() ? 0 : kPassesMax) {
  if (!path_.empty()) trace_.emplace(kSpansMax);
}

llm::RowObserver ExecTrace::observer() {
  return [this](const llm::StepReport& step, std::span<const llm::RowTrace> rows) {
    passes_.observe(step, rows);
  };
}

void ExecTrace::write(store::Disk& disk, Console& console) const {
  if (!trace_) return;
  const std::string text = is_chrome_trace(path_)
                               ? program::trace_as_chrome_json(trace_->kept(), passes_.kept())
                               : program::trace_as_text(trace_->kept(), passes_.kept());
  const Result<void> written = disk.write_atomically(path_, text);
  if (!written) console.warn(fmt::format("there is no trace: {}", written.error().message));
}

Result<void> check_server_model(const fleet::JobFleet& fleet, const Settings& settings) {
  const fleet::JobRoute route = fleet.routes().front();
  if (!route.raw || !settings.program_model.empty() || route.listed.size() == 1) return {};
  const std::string has = route.listed.empty()
                              ? "does not say which models it has"
                              : fmt::format("has {}", fmt::join(route.listed, ", "));
  return Error{ErrorKind::kInvalid,
               fmt::format("--upstream {}, so contexts for which the program names no model need "
                           "one: name it with --program-model",
                           has)};
}

ExecPrograms::ExecPrograms(std::shared_ptr<const program::Program> program, fleet::JobFleet& fleet,
                           fleet::JobHooks hooks, ExecTrace& trace, const Settings& settings,
                           const Clock& clock, Console& console)
    : name_(program->name),
      server_model_(server_model(fleet, settings)),
      routed_(fleet, naming_help()),
      models_(routed_, models_options(fleet, std::move(hooks), settings)),
      loop_(std::move(program), models_, trace.passes(), trace.trace(), clock,
            loop_options(settings, console)),
      rows_(loop_, clock,
            {.instances_max = static_cast<int32_t>(settings.programs_in_flight),
             .model = settings.program_model}) {}

std::vector<batch::ModelRoute> ExecPrograms::routes() {
  return {{.name = name_, .dispatcher = &rows_}};
}

// A job is not continued by another model because the servers list another one meanwhile.
batch::RunHooks ExecPrograms::hooks() {
  batch::RunHooks hooks;
  if (!server_model_.empty()) hooks.late_settings = {{"the only model listed", server_model_}};
  return hooks;
}

}  // namespace windrow::app
