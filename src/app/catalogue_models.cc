#include "app/catalogue_models.h"

#include <fmt/format.h>

#include <utility>

#include "llm/field_values.h"
#include "llm/request_json.h"

namespace windrow::app {

CatalogueModels::CatalogueModels(const api::ModelRegistry& catalogue,
                                 std::function<bool()> unreachable)
    : catalogue_(catalogue), unreachable_(std::move(unreachable)) {}

std::variant<batches::BatchModel, llm::Failure> CatalogueModels::find(llm::Endpoint endpoint,
                                                                      std::string_view name) {
  const api::ServedModel* model = catalogue_.find(name);
  if (name.empty() && (model == nullptr || !model->endpoints.contains(endpoint)))
    model = catalogue_.only_one_for(endpoint);
  if (model == nullptr) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 404,
                        .code = "model_not_found",
                        .message = name.empty()
                                       ? "no model is named, and there are several"
                                       : fmt::format("there is no model \"{}\"", llm::shown(name)),
                        .param = "model"};
  }
  if (!model->endpoints.contains(endpoint)) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 400,
                        .code = "unsupported_by_model",
                        .message = fmt::format("the model {} does not answer {}", model->name,
                                               llm::url_of(endpoint)),
                        .param = "model"};
  }
  return batches::BatchModel{
      .name = model->name, .dispatcher = model->dispatcher, .raw = model->raw};
}

uint64_t CatalogueModels::upstreams_of(std::string_view name) {
  const api::ServedModel* model = catalogue_.find(name);
  return model == nullptr ? 0 : model->upstreams;
}

bool CatalogueModels::is_waited_for(std::string_view name) {
  const api::ServedModel* model = catalogue_.find(name);
  return model != nullptr && model->residence &&
         model->residence->status().state != llm::LoadState::kLoaded;
}

std::string CatalogueModels::unavailable() {
  return unreachable_() ? "none of the servers behind this one can be reached" : "";
}

}  // namespace windrow::app
