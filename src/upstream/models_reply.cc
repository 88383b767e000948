#include "upstream/models_reply.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <span>

#include "json/depth.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

constexpr size_t kNamedMax = 20;

}  // namespace

std::optional<std::vector<std::string>> models_of(std::string_view body) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(body.data(), body.size()), error, {},
                                        {.max_depth = kJsonDepthMax});
  if (error || !value.is_object()) return std::nullopt;
  const json::value* data = value.get_object().if_contains("data");
  if (data == nullptr || !data->is_array()) return std::nullopt;
  std::vector<std::string> models;
  for (const json::value& entry : data->get_array()) {
    const json::object* model = entry.if_object();
    const json::value* id = model == nullptr ? nullptr : model->if_contains("id");
    if (id != nullptr && id->is_string()) models.emplace_back(id->get_string());
  }
  return models;
}

std::string models_text(const std::vector<std::string>& models) {
  if (models.empty()) return "it has no models";
  const std::span<const std::string> named(models.data(), std::min(models.size(), kNamedMax));
  if (named.size() == models.size()) return fmt::format("it has {}", fmt::join(named, ", "));
  return fmt::format("it has {} and {} more", fmt::join(named, ", "), models.size() - named.size());
}

bool has_model(const std::vector<std::string>& models, std::string_view name) {
  constexpr std::string_view kLatest = ":latest";
  return std::any_of(models.begin(), models.end(), [&](std::string_view model) {
    return model == name ||
           (model.ends_with(kLatest) && model.substr(0, model.size() - kLatest.size()) == name);
  });
}

}  // namespace windrow::upstream
