#include "table/row_template.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "json/writer.h"
#include "table/record_reader.h"

namespace windrow::table {
namespace {

batch::LineProblem problem(std::string code, std::string message, std::string param = {}) {
  return {.code = std::move(code), .message = std::move(message), .param = std::move(param)};
}

// As a user finds it.
std::string place_of(const Record& record) {
  return fmt::format("{} {}", record.of_array ? "record" : "line", record.line);
}

// The columns by their names; one that is called "record" stays itself.
boost::json::object variables_of(const Record& record) {
  boost::json::object variables = record.values;
  if (!variables.contains("record")) variables["record"] = record.values;
  return variables;
}

std::string columns_text(const Record& record) {
  return record.values.empty()
             ? std::string("; the record has no columns")
             : fmt::format("; the columns are {}", names_of_columns(columns_of(record)));
}

}  // namespace

std::variant<std::string, batch::LineProblem> custom_id_of(const Record& record,
                                                           const std::string& id_column) {
  if (id_column.empty()) return fmt::format("{}", record.number);
  const boost::json::value* value = record.values.if_contains(id_column);
  if (value == nullptr) {
    return problem("missing_custom_id",
                   fmt::format("{} has no column \"{}\", which --id names{}", place_of(record),
                               id_column, columns_text(record)),
                   id_column);
  }
  std::string id;
  if (value->is_string()) {
    id = value->get_string();
  } else if (value->is_int64() || value->is_uint64()) {
    id = plain_json(*value);
  }
  if (!id.empty()) return id;
  return problem(
      "invalid_custom_id",
      fmt::format("{} has {} as its {}, which --id names; that has to be a text or a "
                  "whole number, another one in each record",
                  place_of(record),
                  value->is_string() ? std::string("nothing") : plain_json(*value), id_column),
      id_column);
}

Result<RowTemplate> RowTemplate::make(RowRecipe recipe) {
  RowTemplate made(std::move(recipe));
  const auto add = [](std::string_view flag, const std::optional<std::string>& source,
                      std::optional<Part>& part) -> Result<void> {
    if (!source) return {};
    Result<jinja::Template> text = jinja::Template::parse(*source);
    if (!text) return text.error().in(flag);
    part = Part{.flag = flag, .text = *std::move(text)};
    return {};
  };
  const RowRecipe& of = made.recipe_;
  for (const Result<void>& added :
       {add("--system", of.system, made.system_), add("--prompt", of.prompt, made.prompt_),
        add("--embed", of.embed, made.embed_)}) {
    if (!added) return added.error();
  }
  boost::json::object rest;
  if (of.max_tokens) rest["max_tokens"] = *of.max_tokens;
  if (of.temperature) rest["temperature"] = *of.temperature;
  if (of.schema) {
    rest["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", "answer"}, {"schema", *of.schema}, {"strict", true}}}};
  }
  for (const auto& [name, value] : rest) {
    made.after_texts_ += ',';
    append_json(std::string_view(name), made.after_texts_);
    made.after_texts_ += ':';
    append_compact_json(value, made.after_texts_);
  }
  return made;
}

std::variant<std::string, batch::LineProblem> RowTemplate::line_of(const Record& record) const {
  if (record.problem) return *record.problem;
  auto id = custom_id_of(record, recipe_.id_column);
  if (auto* fault = std::get_if<batch::LineProblem>(&id)) return std::move(*fault);

  const boost::json::object variables = variables_of(record);
  const jinja::RenderOptions options{.undefined_fails = true};
  std::optional<batch::LineProblem> failed;
  const auto write = [&](const std::optional<Part>& part, std::string_view before,
                         std::string& line) {
    if (!part || failed) return;
    const Result<jinja::Rendered> text = part->text.render(variables, options);
    if (!text) {
      failed = problem("template_failed",
                       fmt::format("{} gives no request: {}: {}{}", place_of(record), part->flag,
                                   text.error().message, columns_text(record)),
                       std::string(part->flag));
      return;
    }
    line += before;
    append_json(text->text(), line);
  };

  std::string line = "{\"custom_id\":";
  append_json(std::get<std::string>(id), line);
  line += ",\"method\":\"POST\",\"url\":";
  if (embed_) {
    line += "\"/v1/embeddings\",\"body\":{";
    write(embed_, "\"input\":", line);
  } else {
    line += "\"/v1/chat/completions\",\"body\":{\"messages\":[";
    write(system_, "{\"role\":\"system\",\"content\":", line);
    if (system_) line += "},";
    write(prompt_, "{\"role\":\"user\",\"content\":", line);
    line += "}]";
  }
  line += after_texts_;
  line += "}}";
  if (failed) return *std::move(failed);
  return line;
}

}  // namespace windrow::table
