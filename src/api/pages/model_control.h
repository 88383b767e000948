// What /v1/windrow/models/{model}/load and .../unload do, for those whose key is an admin's.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "api/calls/model_registry.h"
#include "llm/answer.h"

namespace windrow::api {

enum class ModelOrder : uint8_t { kLoad, kUnload };

// The model as it is afterwards; neither waits until it is there or gone. Else 404 for one that is
// not served, 400 for one that is not here, 403 for those who may not, 409 for one that cannot
// leave.
std::variant<ServedModel, llm::Failure> give_order(const ModelRegistry& catalogue,
                                                   std::string_view name, ModelOrder order,
                                                   bool is_admin);

}  // namespace windrow::api
