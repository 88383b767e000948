// What /v1/models says: the models of the catalogue, in the shape of the OpenAI API. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/calls/model_registry.h"

namespace windrow::api {

// {"object": "list", "data": [...]}
std::string models_page(std::span<const ServedModel> models);

// One of them, beside OpenAI's members with its longest request, what it can be asked, and of one
// that comes and goes whether it is there.
std::string model_page(const ServedModel& model);

// Nothing: there is none of this name.
std::optional<std::string> model_page(std::span<const ServedModel> models, std::string_view name);

// A part of a path as it was meant: "a%2Fb" is "a/b". What is no such text stays as it is.
std::string decode_part(std::string_view part);

}  // namespace windrow::api
