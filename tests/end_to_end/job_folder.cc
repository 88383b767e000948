#include "end_to_end/job_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace windrow::end_to_end {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

// Passes a variable of the test's environment to the program: options of the sanitizers.
void pass_on(const char* name, std::map<std::string, std::string>& variables) {
  const char* value = std::getenv(name);
  if (value != nullptr) variables[name] = value;
}

std::string line(std::string_view custom_id, std::string_view url, json::object body) {
  return json::serialize(json::object{{"custom_id", custom_id},
                                      {"method", "POST"},
                                      {"url", url},
                                      {"body", std::move(body)}}) +
         "\n";
}

const json::value* find(const json::object& object, std::string_view path) {
  const size_t dot = path.find('.');
  const json::value* value = object.if_contains(path.substr(0, dot));
  if (dot == std::string_view::npos || value == nullptr) return value;
  return value->is_object() ? find(value->get_object(), path.substr(dot + 1)) : nullptr;
}

}  // namespace

std::string model_path(std::string_view family, std::string_view type) {
  return fmt::format("{}/{}-{}.gguf", WINDROW_TEST_MODELS_DIR, family, type);
}

std::string endless_model_path() {
  return WINDROW_END_TO_END_MODELS_DIR "/endless.gguf";
}

std::string inst_model_path() {
  return WINDROW_END_TO_END_MODELS_DIR "/inst.gguf";
}

std::string calls_model_path() {
  return WINDROW_END_TO_END_MODELS_DIR "/calls.gguf";
}

std::string with_header_value(std::string gguf, std::string_view key, uint32_t bits) {
  const size_t found = gguf.find(key);
  EXPECT_NE(found, std::string::npos) << key;
  if (found == std::string::npos) return gguf;
  const size_t value_at = found + key.size() + sizeof(uint32_t);  // behind its type
  for (size_t i = 0; i < sizeof bits; ++i)
    gguf.at(value_at + i) = static_cast<char>(bits >> (8 * i) & 0xff);
  return gguf;
}

JobFolder::JobFolder() {
  std::string pattern = (fs::temp_directory_path() / "windrow-e2e-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

JobFolder::~JobFolder() {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(path_, error)) {
    if (entry.is_directory()) fs::permissions(entry, fs::perms::owner_all, error);
  }
  fs::remove_all(path_, error);
}

std::string JobFolder::path(std::string_view name) const {
  return (path_ / name).string();
}

void JobFolder::write(std::string_view name, std::string_view text) const {
  std::ofstream file(path(name), std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  ASSERT_TRUE(file.good()) << name;
}

std::string JobFolder::read(std::string_view name) const {
  std::ifstream file(path(name), std::ios::binary);
  EXPECT_TRUE(file.good()) << "there is no file " << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool JobFolder::has(std::string_view name) const {
  return fs::exists(path(name));
}

uint64_t JobFolder::size_of(std::string_view name) const {
  std::error_code error;
  const uintmax_t size = fs::file_size(path(name), error);
  return error ? 0 : size;
}

std::vector<std::string> JobFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void JobFolder::use_model(const std::string& model, std::string_view name) const {
  fs::create_symlink(model, path(name));
}

Command JobFolder::command(const Words& words) const {
  Command command;
  command.words = {WINDROW_PROGRAM};
  command.words.insert(command.words.end(), words.begin(), words.end());
  command.folder = path_.string();
  command.variables = {{"HOME", path_.string()},   {"PATH", "/usr/bin:/bin"},
                       {"LANG", "C.UTF-8"},        {"TERM", "xterm-256color"},
                       {"GGML_NO_BACKTRACE", "1"}, {"WINDROW_THREADS", "1"}};
  for (const char* name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    pass_on(name, command.variables);
  return command;
}

Words exact_run(std::string_view input, std::string_view output, const Words& more) {
  Words words = {"run",        std::string(input), "-o",  std::string(output), "--model",
                 "model.gguf", "--kv-type",        "f32", "--flash-attn",      "off"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string chat_line(std::string_view custom_id, std::string_view content,
                      const json::object& body) {
  json::object whole{{"model", "any"},
                     {"messages", json::array{{{"role", "user"}, {"content", content}}}}};
  for (const auto& [name, value] : body)
    whole.insert_or_assign(name, value);
  return line(custom_id, "/v1/chat/completions", std::move(whole));
}

std::string completion_line(std::string_view custom_id, std::string_view prompt,
                            const json::object& body) {
  json::object whole{{"model", "any"}, {"prompt", prompt}};
  for (const auto& [name, value] : body)
    whole.insert_or_assign(name, value);
  return line(custom_id, "/v1/completions", std::move(whole));
}

std::string embedding_line(std::string_view custom_id, std::string_view input,
                           const json::object& body) {
  json::object whole{{"model", "any"}, {"input", input}};
  for (const auto& [name, value] : body)
    whole.insert_or_assign(name, value);
  return line(custom_id, "/v1/embeddings", std::move(whole));
}

std::string some_requests(int count, int output_tokens) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    const std::string id = fmt::format("row-{}", i);
    const std::string words = fmt::format("the house of number {} is near the water", i * 7);
    json::object body{{"max_tokens", output_tokens}, {"temperature", i % 2}};
    if (i % 4 == 1) body["seed"] = i;
    text += i % 3 == 0 ? completion_line(id, words, body) : chat_line(id, words, body);
  }
  return text;
}

Log read_torn_log(const JobFolder& folder, std::string_view name) {
  Log log;
  if (!folder.has(name)) return log;
  const std::string text = folder.read(name);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    LogLine line{.text = text.substr(begin, end - begin), .json = {}};
    boost::system::error_code error;
    json::value value = json::parse(line.text, error);
    if (error || !value.is_object()) {
      ADD_FAILURE() << name << " holds a line that is no JSON object: " << line.text;
    } else {
      line.json = std::move(value.get_object());
      log.lines.push_back(std::move(line));
    }
    begin = end + 1;
  }
  log.torn = text.substr(begin);
  return log;
}

std::vector<LogLine> read_log(const JobFolder& folder, std::string_view name) {
  Log log = read_torn_log(folder, name);
  EXPECT_EQ(log.torn, "") << name << " ends with half a line";
  return std::move(log.lines);
}

std::string member(const json::object& object, std::string_view path) {
  const json::value* value = find(object, path);
  return value == nullptr ? "" : json::serialize(*value);
}

std::vector<std::string> custom_ids(const std::vector<LogLine>& log) {
  std::vector<std::string> ids;
  for (const LogLine& line : log) {
    const json::value* id = find(line.json, "custom_id");
    ids.emplace_back(id != nullptr && id->is_string() ? std::string_view(id->get_string()) : "");
  }
  return ids;
}

Outcomes outcomes(const std::vector<LogLine>& log) {
  Outcomes result;
  for (const LogLine& line : log) {
    json::object same = line.json;
    // Duplicates carry the custom_id of the row they repeat, and no response.
    const json::value* id = find(same, "custom_id");
    const json::value* response = find(same, "response");
    const bool named =
        id != nullptr && id->is_string() && response != nullptr && response->is_object();
    const std::string key = named ? std::string(id->get_string())
                                  : fmt::format("line {}", member(same, "windrow.line"));
    // at(), not operator[]: that makes room for a new member first, and moves the others.
    if (json::object* windrow = same.at("windrow").if_object()) {
      windrow->erase("timings");
      // Of equal rows only one is sent; which one depends on the rows that ran beside them.
      if (json::value& attempts = windrow->at("attempts"); attempts == 0) attempts = 1;
    }
    if (named && response->get_object().contains("body")) {
      if (json::object* body = same.at("response").get_object().at("body").if_object()) {
        body->erase("created");
        // Which tokens were cached depends on the rows that ran beside this one.
        if (const auto usage = body->find("usage"); usage != body->end()) {
          usage->value().as_object().erase("prompt_tokens_details");
        }
      }
    }
    const bool added = result.emplace(key, json::serialize(same)).second;
    EXPECT_TRUE(added) << key << " has two lines";
  }
  return result;
}

Outcomes outcomes_of_job(const JobFolder& folder, std::string_view results) {
  Outcomes all = outcomes(read_log(folder, fmt::format("{}.jsonl", results)));
  for (const auto& [key, value] :
       outcomes(read_log(folder, fmt::format("{}.errors.jsonl", results)))) {
    EXPECT_TRUE(all.emplace(key, value).second) << key << " is in both logs";
  }
  return all;
}

std::string difference(const Outcomes& expected, const Outcomes& actual) {
  std::string text;
  for (const auto& [key, value] : expected) {
    const auto found = actual.find(key);
    if (found == actual.end()) {
      text += fmt::format("{} is missing\n", key);
    } else if (found->second != value) {
      text += fmt::format("{}:\n  expected {}\n  actual   {}\n", key, value, found->second);
    }
    if (text.size() > 5000) return text + "and so on\n";
  }
  for (const auto& [key, value] : actual) {
    if (!expected.contains(key)) text += fmt::format("{} is too many\n", key);
    if (text.size() > 5000) return text + "and so on\n";
  }
  return text;
}

}  // namespace windrow::end_to_end
