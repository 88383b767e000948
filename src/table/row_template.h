// RowTemplate: how a record becomes a request: one line of a batch file (docs/formats.md). Pure;
// immutable; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "batch/line_source.h"
#include "jinja/template.h"
#include "table/record.h"

namespace windrow::table {

// What a user says about the requests. Texts are Jinja templates that see the columns by their
// names, and all of them as `record`.
struct RowRecipe {
  std::string id_column;  // its values are the custom_ids; empty: the record's number

  // One of the two: a chat with this message of the user, or a text to embed.
  std::optional<std::string> prompt;
  std::optional<std::string> embed;

  // With `prompt`.
  std::optional<std::string> system;
  std::optional<boost::json::object> schema;  // that the answer follows
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature;
};

class RowTemplate {
 public:
  // kInvalid for a template with an error in it; the message names the flag.
  static Result<RowTemplate> make(RowRecipe recipe);

  // The line, without a line end; or why this record gives none: an undefined name, no usable id.
  std::variant<std::string, batch::LineProblem> line_of(const Record& record) const;

  const RowRecipe& recipe() const { return recipe_; }

 private:
  struct Part {
    std::string_view flag;  // in messages: "--prompt"
    jinja::Template text;
  };

  explicit RowTemplate(RowRecipe recipe) : recipe_(std::move(recipe)) {}

  RowRecipe recipe_;
  std::optional<Part> system_;
  std::optional<Part> prompt_;
  std::optional<Part> embed_;
  std::string after_texts_;  // the rest of the body, behind what templates write
};

// The custom_id of a record: the value of a column, or its number where `id_column` is empty.
std::variant<std::string, batch::LineProblem> custom_id_of(const Record& record,
                                                           const std::string& id_column);

}  // namespace windrow::table
