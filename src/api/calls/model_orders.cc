#include "api/calls/model_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/refusals.h"
#include "llm/field_values.h"

namespace windrow::api {
namespace {

llm::Failure control_refused(int32_t status, std::string code, std::string message) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = status,
          .code = std::move(code),
          .message = std::move(message),
          .param = status == 403 ? "" : "model"};
}

}  // namespace

std::variant<ServedModel, llm::Failure> give_order(const ModelRegistry& registry,
                                                   std::string_view name, ModelOrder order,
                                                   bool is_admin) {
  if (!is_admin) {
    return control_refused(403, "permission_denied",
                           "loading and unloading models requires an admin's key "
                           "(`windrow keys add FILE NAME --admin`)");
  }
  const std::vector<ServedModel> models = registry.list();
  const auto found = std::ranges::find(models, name, &ServedModel::name);
  if (found == models.end()) {
    return control_refused(
        404, "model_not_found",
        fmt::format("there is no model {}; /v1/models lists them", llm::shown(name)));
  }
  if (!found->residence) {
    return control_refused(
        400, "unsupported_by_model",
        fmt::format("the model {} is on an upstream server: it cannot be loaded or "
                    "unloaded here",
                    name));
  }
  if (order == ModelOrder::kLoad) {
    found->residence->load();
    return *found;
  }
  switch (found->residence->unload()) {
    case llm::UnloadResult::kInUse:
      return control_refused(
          409, "model_in_use",
          fmt::format("the model {} is in use, or requests wait for it; try again when "
                      "they have ended",
                      name));
    case llm::UnloadResult::kPinned:
      return control_refused(
          409, "model_kept_loaded",
          fmt::format("the model {} was started with --keep-loaded and stays loaded", name));
    case llm::UnloadResult::kUnloading:
    case llm::UnloadResult::kAbsent:
      break;
  }
  return *found;
}

AwaitedLoad::AwaitedLoad(const ServedModel& model, std::optional<TimePoint> until)
    : name_(model.name),
      residence_(model.residence),
      until_(until),
      before_(model.residence->status()) {
  residence_->load();
}

std::optional<AwaitedLoad::End> AwaitedLoad::look(TimePoint now) const {
  const llm::ModelStatus reading = residence_->status();
  // It may have come and left since the last look.
  if (reading.state == llm::LoadState::kLoaded || reading.loads > before_.loads) return End{};
  if (reading.loads_failed > before_.loads_failed)
    return End{load_failed(name_, reading.load_error)};
  if (reading.state != llm::LoadState::kLoading && !reading.wanted) return End{not_loaded(name_)};
  if (until_ && now >= *until_) return End{still_loading(name_)};
  return std::nullopt;
}

}  // namespace windrow::api
