// docs/api.md says what becomes of each field, of parameters of lists and of headers; this holds it
// to the code. The fields that a body of /v1/chat/completions, /v1/completions, /v1/embeddings and
// /v1/rerank shares with a line of a file are in docs/formats.md, held to the same table by
// llm/formats_document_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/openapi/openapi.h"
#include "api/testing/all_parts.h"
#include "api/testing/document.h"
#include "api/wire/body_fields.h"
#include "api/wire/translation.h"
#include "batches/batch_json.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;
using testing::document_part;
using testing::expect_part;
using testing::in_backticks;
using testing::read_text;
using testing::word_for;

// --- what the server takes out of a body ------------------------------------------------------

std::string endpoint_names(llm::EndpointSet set, llm::EndpointSet without) {
  std::string names;
  for (const Endpoint endpoint : llm::endpoints()) {
    if (!set.contains(endpoint) || without.contains(endpoint)) continue;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", llm::url_of(endpoint));
  }
  return names;
}

TEST(FieldsDocument, ListsWhatTheServerTakesOutOfABody) {
  std::string table = "| field | of | | what it does, or why |\n|---|---|---|---|\n";
  for (const ServerField& field : server_fields()) {
    // Of two of one name the first counts.
    llm::EndpointSet before;
    for (const ServerField& other : server_fields()) {
      if (&other == &field) break;
      if (other.name == field.name) before = other.endpoints;
    }
    table += fmt::format("| `{}` | {} | {} | {} |\n", field.name,
                         endpoint_names(field.endpoints, before), word_for(field.use),
                         field.description);
  }
  expect_part("fields of the server", table);
}

// As docs/api.md says in words.
TEST(FieldsDocument, InAFileOfRequestsTheyMeanLess) {
  std::set<std::string_view> names;
  for (const ServerField& field : server_fields())
    names.insert(field.name);
  EXPECT_EQ(names,
            (std::set<std::string_view>{"stream", "stream_options", "priority", "service_tier"}));
  const auto use = [](std::string_view name) {
    return llm::find_rule(Endpoint::kChatCompletions, name)->use;
  };
  EXPECT_EQ(use("stream"), llm::FieldUse::kRefused);
  EXPECT_EQ(use("stream_options"), llm::FieldUse::kRefused);
  EXPECT_EQ(use("service_tier"), llm::FieldUse::kWithoutEffect);
  EXPECT_EQ(llm::find_rule(Endpoint::kChatCompletions, "priority"), nullptr);
}

// --- other dialects ---------------------------------------------------------------------------

std::string fields_table(Dialect dialect) {
  std::string table = "| field | | values, or why |\n|---|---|---|\n";
  for (const TranslatedRule& rule : translated_rules(dialect)) {
    const bool refused = rule.use == llm::FieldUse::kRefused;
    const std::string but =
        refused && !rule.values.empty() ? fmt::format(", but for {}", rule.values) : "";
    table += fmt::format("| `{}` | {}{} | {} |\n", rule.name, word_for(rule.use), but,
                         refused ? rule.instead : rule.values);
  }
  return table;
}

TEST(FieldsDocument, ListsTheFieldsOfOtherApis) {
  expect_part("fields of responses", fields_table(Dialect::kResponses));
  expect_part("fields of messages", fields_table(Dialect::kMessages));
  expect_part("fields of ollama chat", fields_table(Dialect::kOllamaChat));
  expect_part("fields of ollama generate", fields_table(Dialect::kOllamaGenerate));
  expect_part("fields of ollama embed", fields_table(Dialect::kOllamaEmbed));
  expect_part("fields of ollama embeddings", fields_table(Dialect::kOllamaEmbeddings));
}

TEST(FieldsDocument, ListsTheOptionsOfOllamasApi) {
  std::string table = "| option | | values |\n|---|---|---|\n";
  for (const OllamaOption& option : ollama_options()) {
    const bool refused = option.use == llm::FieldUse::kRefused;
    table +=
        refused
            ? fmt::format("| `{}` | refused, but for {} | answers are not drawn that way |\n",
                          option.name, option.values)
            : fmt::format("| `{}` | {} | {} |\n", option.name, word_for(option.use), option.values);
  }
  expect_part("options of ollama", table);
}

// --- files, batches and lists -----------------------------------------------------------------

const json::object& description() {
  static const json::object made = testing::whole_document(false);
  return made;
}

std::set<std::string> properties_of(std::string_view schema) {
  std::set<std::string> names;
  const json::value& form = description().at("components").at("schemas").at(schema);
  for (const auto& property : form.at("properties").as_object())
    names.emplace(property.key());
  return names;
}

std::set<std::string> questions_of(std::string_view path) {
  std::set<std::string> names;
  const json::object& operation = description().at("paths").at(path).at("get").as_object();
  for (const json::value& reference : operation.at("parameters").as_array()) {
    const std::string_view name = reference.at("$ref").as_string();
    const json::value& parameter =
        description().at("components").at("parameters").at(name.substr(name.rfind('/') + 1));
    names.emplace(parameter.at("name").as_string());
  }
  return names;
}

std::string small(std::string_view text) {
  std::string letters(text);
  std::ranges::transform(letters, letters.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return letters;
}

// The sources of this module, tests left out.
std::string sources() {
  std::string all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(WINDROW_SOURCE_DIR "/src/api")) {
    const std::string path = entry.path();
    const bool is_source = path.ends_with(".cc") || path.ends_with(".h");
    if (is_source && !path.ends_with("_test.cc") && path.find("/testing/") == std::string::npos)
      all += read_text(path);
  }
  return all;
}

// Returns the texts between each `mark` and the next quote.
std::set<std::string> literals_behind(std::string_view text, std::string_view mark) {
  std::set<std::string> found;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at)) {
    at += mark.size();
    found.emplace(text.substr(at, text.find('"', at) - at));
  }
  return found;
}

// The cells of a row, without the first and the last bar.
std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  constexpr std::string_view kBar = " | ";
  row = row.substr(std::min<size_t>(2, row.size()));
  for (size_t end = row.find(kBar); end != std::string_view::npos; end = row.find(kBar)) {
    cells.emplace_back(row.substr(0, end));
    row.remove_prefix(end + kBar.size());
  }
  return cells;
}

// The first column of the rows for `of`.
std::set<std::string> documented_for(std::string_view of) {
  std::set<std::string> names;
  std::istringstream lines(document_part("fields of files and batches"));
  std::string line;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() > 1 && cells[1] == fmt::format("`{}`", of))
      names.merge(in_backticks(cells[0]));
  }
  return names;
}

TEST(FieldsDocument, ListsWhatFilesAndBatchesAreAskedWith) {
  EXPECT_EQ(documented_for("POST /v1/files"), properties_of("FileUpload"));
  EXPECT_EQ(documented_for("POST /v1/batches"), properties_of("BatchCreation"));
  EXPECT_EQ(documented_for("GET /v1/files"), questions_of("/v1/files"));
  EXPECT_EQ(documented_for("GET /v1/batches"), questions_of("/v1/batches"));

  // And the code has these and no others.
  EXPECT_EQ(literals_behind(sources(), "head.name == \""), properties_of("FileUpload"));
  for (const std::string& name : properties_of("BatchCreation")) {
    const auto read = batches::read_batch_request(json::object{{name, nullptr}});
    const auto* failure = std::get_if<llm::Failure>(&read);
    EXPECT_TRUE(failure == nullptr || failure->code != "unknown_parameter") << name;
  }
  const auto other = batches::read_batch_request(json::object{{"tone", nullptr}});
  EXPECT_EQ(std::get<llm::Failure>(other).code, "unknown_parameter");
}

// --- headers ----------------------------------------------------------------------------------

// Of the rows whose second column begins with this word.
std::set<std::string> documented_headers(std::string_view use) {
  std::set<std::string> names;
  std::istringstream lines(document_part("headers"));
  std::string line;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 2 || !cells[1].starts_with(use)) continue;
    for (const std::string& name : in_backticks(cells[0]))
      names.insert(small(name));
  }
  return names;
}

// The headers of requests that the sources ask for by name. HTTP's own are another module's.
std::set<std::string> headers_read(std::string_view sources) {
  std::set<std::string> names;
  for (const std::string_view mark :
       {"headers.get(\"", "request.get(\"", " header(\"", "Header = \""}) {
    for (const std::string& name : literals_behind(sources, mark))
      names.insert(small(name));
  }
  return names;
}

TEST(FieldsDocument, ListsTheHeadersThatAreRead) {
  const std::string text = sources();
  const std::string letters = small(text);
  const std::set<std::string> read = headers_read(text);
  const std::set<std::string> honoured = documented_headers("honoured");
  EXPECT_GT(honoured.size(), 8U);
  for (const char* name : {"authorization", "x-api-key", "x-windrow-lane", "x-request-id"})
    EXPECT_TRUE(read.contains(name)) << "the sources are not written as this test reads them";
  // The module http reads content-encoding, by a name of its library.
  for (const std::string& name : honoured) {
    EXPECT_TRUE(letters.find(fmt::format("\"{}\"", name)) != std::string::npos ||
                name == "content-encoding")
        << name << " is in docs/api.md and nowhere else";
  }
  for (const std::string& name : documented_headers("without effect"))
    EXPECT_FALSE(read.contains(name)) << name;
  std::set<std::string> all = honoured;
  all.merge(documented_headers("refused"));
  for (const std::string& name : read)
    EXPECT_TRUE(all.contains(name)) << name << " is read and not in docs/api.md";
}

}  // namespace
}  // namespace windrow::api
