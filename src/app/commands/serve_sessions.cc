#include "app/commands/serve_sessions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/session/session_calls.h"
#include "app/settings/fleet_settings.h"
#include "app/settings/run_options.h"
#include "app/settings/session_settings.h"
#include "base/crypto.h"
#include "batches/batch_host.h"

namespace windrow::app {
namespace {

constexpr size_t kSeedBytes = 32;
constexpr Duration kExpiryPeriodMax = std::chrono::seconds(15);

session::DispatchedSessionModelsOptions session_model_options(
    const Settings& settings, const session::SessionOptions& options, api::KeyAccounts* accounts) {
  session::DispatchedSessionModelsOptions models;
  for (const auto& [field, value] : settings.body_defaults)
    models.body.defaults[field] = value;
  models.body.unknown_fields = unknown_fields_of(settings);
  models.output_tokens_default = settings.output_tokens_default;
  models.reply_bytes_max = options.limits.reply_bytes_max;
  models.attempts_max = options.attempts_max;
  if (accounts == nullptr) return models;
  models.weight_of = [accounts](std::string_view key) { return accounts->weight_of(key); };
  models.charge = [accounts](std::string_view key, const llm::Usage& usage) {
    accounts->ended(key, 0, usage, batches::RowEnd::kAnswered);
  };
  return models;
}

}  // namespace

Result<ServeSessions> ServeSessions::open(const Settings& settings, const Clock& clock,
                                          api::KeyAccounts* accounts) {
  Result<session::SessionOptions> options = session_options(settings, machine_memory_bytes());
  if (!options) return options.error();
  ServeSessions sessions;
  sessions.clock_ = &clock;
  sessions.upstream_api_ = settings.session_upstream;
  sessions.model_options_ = session_model_options(settings, *options, accounts);
  sessions.service_ = std::make_unique<session::SessionService>(clock, *std::move(options),
                                                                secret_bytes(kSeedBytes));
  return sessions;
}

api::PartFactory ServeSessions::part() const {
  return api::session_part(service_.get());
}

void ServeSessions::start(dispatch::Models& models, const api::ModelRegistry& registry,
                          const fleet::ServerFleet& fleet, http::Loop& loop) {
  model_options_.kind_of = [api = upstream_api_, &models, &fleet](std::string_view name) {
    return session_model_kind(api, fleet.server_kind(models.upstreams_of(name)));
  };
  model_options_.tokenizer_of =
      [&registry](std::string_view name) -> Result<std::shared_ptr<const llm::Tokenizer>> {
    const api::ServedModel* model = registry.find(name);
    if (model == nullptr || !model->tokenizer) return std::shared_ptr<const llm::Tokenizer>();
    return model->tokenizer->get();
  };
  models_ = std::make_unique<session::DispatchedSessionModels>(models, *clock_,
                                                               std::move(model_options_));
  service_->start(*models_);
  expiry_ = std::make_unique<PeriodicTask>(
      loop, std::min<Duration>(kExpiryPeriodMax, service_->options().limits.idle),
      [service = service_.get()] { service->expire(); });
}

void ServeSessions::stop() {
  expiry_.reset();
  service_->stop();
}

}  // namespace windrow::app
