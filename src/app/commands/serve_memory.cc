#include "app/commands/serve_memory.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "api/calls/model_registry.h"
#include "api/memory/memory_calls.h"
#include "json/parse.h"

namespace windrow::app {
namespace {

// Below --data-dir.
constexpr std::string_view kMemoryFolder = "/memory";

}  // namespace

Result<memory::BankConfig> bank_defaults(const Settings& settings) {
  boost::json::object values;
  for (const std::string& setting : settings.memory_config) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorKind::kInvalid, fmt::format("--memory-set takes KEY=VALUE, such as "
                                                    "consolidation_llm_batch_size=4, not {}",
                                                    setting)};
    }
    const std::string_view text = std::string_view(setting).substr(equals + 1);
    auto parsed = parse_json(text);
    auto* value = std::get_if<boost::json::value>(&parsed);
    values[std::string_view(setting).substr(0, equals)] =
        value == nullptr ? boost::json::value(text) : std::move(*value);
  }
  Result<memory::BankConfig> config = memory::with_overrides({}, values);
  if (!config) return config.error().in("--memory-set");
  return config;
}

Result<ServeMemory> ServeMemory::open(const Settings& settings, store::Disk& disk,
                                      const Clock& clock, Console& console,
                                      api::KeyAccounts* accounts) {
  Result<memory::BankConfig> defaults = bank_defaults(settings);
  if (!defaults) return defaults.error();
  ServeMemory memory;
  if (settings.data_dir.empty()) return memory;
  memory.model_options_ = {.chat_model = settings.memory_model,
                           .embed_model = settings.memory_embed};
  if (accounts != nullptr) {
    memory.model_options_.weight_of = [accounts](std::string_view key) {
      return accounts->weight_of(key);
    };
    memory.model_options_.charge = [accounts](std::string_view key, const llm::Usage& usage) {
      accounts->ended(key, 0, usage, batches::RowEnd::kAnswered);
    };
  }
  const auto warn = [&console](const std::string& what) { console.warn(what); };
  Result<std::unique_ptr<memory::MemoryService>> service = memory::MemoryService::open(
      disk, clock,
      {.folder = settings.data_dir + std::string(kMemoryFolder),
       .defaults = *std::move(defaults),
       .runner = {.works_alone = true,  // the folder is locked
                  .on_line = [&console](std::string_view line) { console.note(std::string(line)); },
                  .warn = warn}});
  if (!service) return service.error().in("--data-dir");
  memory.service_ = *std::move(service);
  return memory;
}

api::PartFactory ServeMemory::part() const {
  return api::memory_part(service_.get());
}

void ServeMemory::start(dispatch::Models& models, const api::ModelRegistry& registry) {
  if (!service_) return;
  model_options_.tokenizer_of =
      [&registry](std::string_view name) -> std::shared_ptr<const llm::Tokenizer> {
    const api::ServedModel* model =
        name.empty() ? registry.only_one_for(llm::Endpoint::kChatCompletions) : registry.find(name);
    if (model == nullptr || !model->tokenizer) return nullptr;
    Result<std::shared_ptr<const llm::Tokenizer>> tokenizer = model->tokenizer->get();
    return tokenizer ? *std::move(tokenizer) : nullptr;
  };
  models_ = std::make_unique<memory::DispatchedModels>(models, std::move(model_options_));
  service_->start(*models_);
}

void ServeMemory::stop() {
  if (service_) service_->stop();
}

}  // namespace windrow::app
