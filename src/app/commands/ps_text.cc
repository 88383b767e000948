#include "app/commands/ps_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "app/commands/text_columns.h"
#include "base/format.h"
#include "json/values.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

using Loads = std::map<std::string, ModelLoad, std::less<>>;

Error not_of_windrow(std::string_view path) {
  return {ErrorKind::kInvalid,
          fmt::format("the reply to {} is not that of a Windrow server; --url names another one",
                      path)};
}

const json::array* data_of(const json::value& reply) {
  const json::value* data = member_in(&reply, "data");
  return data == nullptr ? nullptr : data->if_array();
}

std::string_view text_member(const json::value* object, std::string_view name) {
  const json::value* value = member_in(object, name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string_view(value->get_string());
}

int64_t count_member(const json::value* object, std::string_view name) {
  const json::value* value = member_in(object, name);
  return value == nullptr || !value->is_int64() ? 0 : value->get_int64();
}

// --- /metrics -----------------------------------------------------------------------------------

// The value of a label: `model="a\"b"`. Empty where there is none.
std::string label_in(std::string_view labels, std::string_view name) {
  const std::string start = fmt::format("{}=\"", name);
  const size_t at = labels.find(start);
  if (at == std::string_view::npos) return "";
  std::string value;
  for (size_t i = at + start.size(); i < labels.size() && labels[i] != '"'; ++i) {
    if (labels[i] == '\\' && i + 1 < labels.size()) ++i;
    value += labels[i];
  }
  return value;
}

// One line: NAME{LABELS} VALUE.
void add_sample(std::string_view line, Loads& loads) {
  const size_t open = line.find('{');
  const size_t close = line.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
  const std::string_view name = line.substr(0, open);
  const std::string_view labels = line.substr(open + 1, close - open - 1);
  const std::string_view digits = line.substr(std::min(close + 2, line.size()));
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const auto add = [&](int64_t ModelLoad::* member) {
    loads[label_in(labels, "model")].*member += value;
  };
  if (name == "windrow_rows_running") add(&ModelLoad::rows_running);
  if (name == "windrow_rows_waiting") add(&ModelLoad::rows_waiting);
  if (name == "windrow_queue_waiting") add(&ModelLoad::queue_waiting);
  if (name == "windrow_kv_cells_max") add(&ModelLoad::cells_max);
  if (name == "windrow_kv_cells" && label_in(labels, "state") == "needed")
    add(&ModelLoad::cells_used);
}

// --- the tables ---------------------------------------------------------------------------------

std::string models_table(const json::array& models, const Loads& loads) {
  if (models.empty()) return "no models\n";
  std::vector<std::vector<std::string>> rows = {
      {"MODEL", "STATE", "MEMORY", "RUNNING", "WAITING", "QUEUED", "KV CACHE"}};
  for (const json::value& model : models) {
    const std::string name(text_member(&model, "id"));
    const json::value* reading = member_in(&model, "windrow");
    const std::string_view state = text_member(reading, "state");
    const int64_t memory = std::max<int64_t>(0, count_member(reading, "memory_bytes"));
    std::vector<std::string> row = {name, state.empty() ? "served" : std::string(state),
                                    memory == 0 ? "-" : human_bytes(static_cast<uint64_t>(memory))};
    const auto found = loads.find(name);
    if (found == loads.end()) {
      row.insert(row.end(), 4, "-");
    } else {
      const ModelLoad& load = found->second;
      row.push_back(with_thousands(load.rows_running));
      row.push_back(with_thousands(load.rows_waiting));
      row.push_back(with_thousands(load.queue_waiting));
      row.push_back(
          load.cells_max <= 0 ? "-" : fmt::format("{} %", 100 * load.cells_used / load.cells_max));
    }
    rows.push_back(std::move(row));
  }
  return text_columns(rows, 2);
}

std::string requests_table(const json::array& requests, int64_t total) {
  if (total == 0) return "no requests\n";
  std::vector<std::vector<std::string>> rows = {
      {"REQUEST", "MODEL", "ENDPOINT", "STATE", "PRIORITY", "KEY", "AGE", "TOKENS"}};
  for (const json::value& request : requests) {
    const std::string_view key = text_member(&request, "key");
    rows.push_back(
        {std::string(text_member(&request, "id")), std::string(text_member(&request, "model")),
         std::string(text_member(&request, "endpoint")),
         std::string(text_member(&request, "state")),
         std::string(text_member(&request, "priority")), key.empty() ? "-" : std::string(key),
         human_duration(
             std::chrono::milliseconds(std::max<int64_t>(0, count_member(&request, "age_ms")))),
         with_thousands(count_member(&request, "tokens"))});
  }
  std::string text = text_columns(rows, 6);
  const auto shown = static_cast<int64_t>(requests.size());
  if (shown < total) text += fmt::format("and {} more\n", with_thousands(total - shown));
  return text;
}

}  // namespace

Loads model_loads(std::string_view metrics) {
  Loads loads;
  while (!metrics.empty()) {
    const std::string_view line = metrics.substr(0, metrics.find('\n'));
    metrics.remove_prefix(std::min(line.size() + 1, metrics.size()));
    if (!line.starts_with('#')) add_sample(line, loads);
  }
  return loads;
}

Result<std::string> ps_text(const PsReplies& replies) {
  const json::array* models = data_of(replies.models);
  if (models == nullptr) return not_of_windrow("/v1/models");
  const json::array* requests = data_of(replies.requests);
  if (requests == nullptr) return not_of_windrow("/v1/windrow/requests");
  const int64_t total =
      std::max(count_member(&replies.requests, "total"), static_cast<int64_t>(requests->size()));
  return fmt::format("{}\n{}\n{}", replies.url + "\n",
                     models_table(*models, model_loads(replies.metrics)),
                     requests_table(*requests, total));
}

Result<json::object> ps_json(const PsReplies& replies) {
  const json::array* models = data_of(replies.models);
  if (models == nullptr) return not_of_windrow("/v1/models");
  if (data_of(replies.requests) == nullptr) return not_of_windrow("/v1/windrow/requests");
  const Loads loads = model_loads(replies.metrics);
  json::array shown = *models;
  for (json::value& model : shown) {
    const auto found = loads.find(text_member(&model, "id"));
    if (found == loads.end() || !model.is_object()) continue;
    model.get_object()["load"] = json::object{{"rows_running", found->second.rows_running},
                                              {"rows_waiting", found->second.rows_waiting},
                                              {"queue_waiting", found->second.queue_waiting},
                                              {"cells_used", found->second.cells_used},
                                              {"cells_max", found->second.cells_max}};
  }
  return json::object{
      {"url", replies.url}, {"models", std::move(shown)}, {"requests", replies.requests}};
}

}  // namespace windrow::app
