#include "report/compare_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "batch/job_paths.h"
#include "batch/log_scan.h"
#include "json/parse.h"
#include "json/values.h"
#include "report/answer_content.h"
#include "report/log_tally.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

// Names of reasons, codes: few are different, so rows hold a number.
class Names {
 public:
  static constexpr uint16_t kNone = std::numeric_limits<uint16_t>::max();

  // All names beyond the first thousand are one.
  uint16_t number_of(std::string_view name) {
    constexpr size_t kNamesMax = 1000;
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<uint16_t>(found - names_.begin());
    if (names_.size() >= kNamesMax) return static_cast<uint16_t>(kNamesMax - 1);
    names_.emplace_back(name);
    return static_cast<uint16_t>(names_.size() - 1);
  }
  const std::string& name(uint16_t number) const { return names_.at(number); }

 private:
  std::vector<std::string> names_;
};

// The line of a row.
struct ComparedRow {
  uint64_t content = 0;  // hash of the answer
  uint64_t offset = 0;   // of its line, in the results or the errors
  int32_t prompt = 0;
  int32_t cached = 0;
  int32_t completion = 0;
  int32_t latency_ms = -1;
  uint16_t finish = Names::kNone;  // of the first choice, and of others where they differ
  uint16_t code = Names::kNone;    // of a failure
  bool failed = false;
  bool of_errors = false;  // its line is in the errors file
  bool vector = false;
  bool right = false;  // as the key has it
};

using Rows = boost::unordered_flat_map<Hash128, ComparedRow, std::hash<Hash128>>;
using Key = boost::unordered_flat_map<Hash128, std::string, std::hash<Hash128>>;

Hash128 identity_of(const json::object& line, uint64_t number) {
  const std::string_view id = text_in(line, "custom_id");
  // Lines that were no requests have no id: they meet by their number in the input.
  if (!id.empty()) return hash128(id);
  const json::object* windrow = object_in(line, "windrow");
  const json::value* input_line = windrow == nullptr ? nullptr : windrow->if_contains("line");
  const uint64_t place = input_line != nullptr && input_line->is_int64()
                             ? static_cast<uint64_t>(input_line->get_int64())
                             : number;
  return hash128(fmt::format("\nline {}", place));
}

std::string joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) {
    if (text == reason || text.ends_with("+" + reason)) continue;
    text += (text.empty() ? "" : "+") + reason;
  }
  return text;
}

std::string code_of(const json::object& line, const json::object* response) {
  const json::object* error = object_in(line, "error");
  if (error == nullptr && response != nullptr) {
    if (const json::object* body = object_in(*response, "body")) error = object_in(*body, "error");
  }
  if (error != nullptr) {
    if (const std::string_view code = text_in(*error, "code"); !code.empty())
      return std::string(code);
    if (const std::string_view type = text_in(*error, "type"); !type.empty())
      return std::string(type);
  }
  const json::value* status = response == nullptr ? nullptr : response->if_contains("status_code");
  return status != nullptr && status->is_int64() ? fmt::format("{}", status->get_int64())
                                                 : "no code";
}

int32_t latency_of(const json::object& line) {
  const json::object* windrow = object_in(line, "windrow");
  const json::object* timings = windrow == nullptr ? nullptr : object_in(*windrow, "timings");
  if (timings == nullptr) return -1;
  int64_t sum = 0;
  for (const std::string_view name : {"queue_ms", "prefill_ms", "decode_ms"}) {
    const json::value* value = timings->if_contains(name);
    if (value != nullptr && value->is_int64()) sum += value->get_int64();
  }
  return static_cast<int32_t>(std::clamp<int64_t>(sum, 0, std::numeric_limits<int32_t>::max()));
}

// One of the two while it is read.
class Side {
 public:
  Side(store::Disk& disk, CompareSide& figures, Names& names)
      : disk_(disk), figures_(figures), names_(names) {}

  Result<void> read(const std::string& path, const Key* key) {
    Result<batch::JobPaths> paths = batch::job_paths(path);
    if (!paths) return paths.error();
    figures_.results = path;
    Result<std::unique_ptr<store::ReadFile>> results = disk_.open_read(path);
    if (!results && results.error().kind != ErrorKind::kNotFound) return results.error();
    if (paths->errors != path && disk_.exists(paths->errors)) figures_.errors = paths->errors;
    if (!results && figures_.errors.empty()) return results.error();
    // Failures first: a result replaces the failure of its row.
    if (!figures_.errors.empty()) {
      Result<std::unique_ptr<store::ReadFile>> errors = disk_.open_read(figures_.errors);
      if (!errors) return errors.error();
      errors_ = *std::move(errors);
      if (Result<void> read = read_lines(*errors_, true, key); !read) return read;
    }
    if (results) {
      results_ = *std::move(results);
      if (Result<void> read = read_lines(*results_, false, key); !read) return read;
    }
    if (rows_.empty() && figures_.odd_lines > 0) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: no line is a result; name what `windrow run` wrote with -o, or "
                               "other OpenAI Batch output",
                               path)};
    }
    sum_up();
    return {};
  }

  Rows& rows() { return rows_; }

  // The line of a row once more; nothing where the file has changed since.
  const json::object* line_of(const ComparedRow& row) {
    const auto& file = row.of_errors ? errors_ : results_;
    if (!file) return nullptr;
    batch::LogLines lines(*file, row.offset);
    const auto text = lines.next();
    if (!text) return nullptr;
    const json::value* value = parser_.parse(*text ? **text : lines.torn());
    return value == nullptr ? nullptr : value->if_object();
  }

 private:
  Result<void> read_lines(store::ReadFile& file, bool errors, const Key* key) {
    batch::LogLines lines(file);
    for (uint64_t number = 1;; ++number) {
      const uint64_t offset = lines.offset();
      const auto text = lines.next();
      if (!text) return text.error();
      if (*text) {
        read_line(**text, number, offset, errors, key);
        continue;
      }
      // Another program may leave out the last line end. Half a line is no JSON.
      if (!lines.torn().empty()) read_line(lines.torn(), number, offset, errors, key);
      return {};
    }
  }

  void read_line(std::string_view text, uint64_t number, uint64_t offset, bool errors,
                 const Key* key) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const json::value* value = parser_.parse(text);
    const json::object* line = value == nullptr ? nullptr : value->if_object();
    if (line == nullptr || !(line->contains("response") || line->contains("error"))) {
      ++figures_.odd_lines;
      return;
    }
    add(*line, number, offset, errors, key);
  }

  void add(const json::object& line, uint64_t number, uint64_t offset, bool errors,
           const Key* key) {
    const Hash128 identity = identity_of(line, number);
    ComparedRow row{.offset = offset};
    const json::object* response = object_in(line, "response");
    const json::object* body = response == nullptr ? nullptr : object_in(*response, "body");
    const json::value* status =
        response == nullptr ? nullptr : response->if_contains("status_code");
    const bool refused = status != nullptr && status->is_int64() && status->get_int64() >= 400;
    row.failed = errors || refused || body == nullptr || object_in(line, "error") != nullptr;
    if (row.failed) {
      row.code = names_.number_of(code_of(line, response));
      row.of_errors = errors;
    } else {
      read_answer(line, *body, row);
      if (key != nullptr) {
        const auto expected = key->find(identity);
        row.right = expected != key->end() && is_right(content_text(*body), expected->second);
      }
    }
    rows_[identity] = row;
  }

  void read_answer(const json::object& line, const json::object& body, ComparedRow& row) {
    row.content = content_hash(body);
    row.vector = embedding_of(body).has_value();
    const std::vector<std::string> reasons = finish_reasons_of(body);
    if (!reasons.empty()) row.finish = names_.number_of(joined(reasons));
    for (const std::string& reason : reasons)
      ++figures_.finish_reasons[reason];
    row.latency_ms = latency_of(line);
    if (const json::object* usage = object_in(body, "usage")) {
      const llm::TokenCount tokens = tokens_in_usage(*usage);
      row.prompt = static_cast<int32_t>(tokens.prompt);
      row.cached = static_cast<int32_t>(tokens.cached);
      row.completion = static_cast<int32_t>(tokens.completion);
    }
  }

  void sum_up() {
    for (const auto& [identity, row] : rows_) {
      ++figures_.rows;
      if (row.failed) {
        ++figures_.failed;
        ++figures_.failures[names_.name(row.code)];
        continue;
      }
      figures_.tokens += {.prompt = row.prompt, .cached = row.cached, .completion = row.completion};
      if (row.latency_ms >= 0) figures_.latency.add(row.latency_ms);
      figures_.right += row.right ? 1 : 0;
    }
  }

  store::Disk& disk_;
  CompareSide& figures_;
  Names& names_;
  JsonLineParser parser_;
  std::unique_ptr<store::ReadFile> results_;
  std::unique_ptr<store::ReadFile> errors_;
  Rows rows_;
};

Result<Key> read_key(store::Disk& disk, const std::string& path) {
  Result<std::unique_ptr<store::ReadFile>> file = disk.open_read(path);
  if (!file) return file.error();
  Key key;
  batch::LogLines lines(**file);
  const auto parser = std::make_unique<JsonLineParser>();
  const auto add = [&](std::string_view text, uint64_t number) -> Result<void> {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    const json::value* value = parser->parse(text);
    const json::object* line = value == nullptr ? nullptr : value->if_object();
    const std::string_view id = line == nullptr ? "" : text_in(*line, "custom_id");
    const json::value* answer = line == nullptr ? nullptr : line->if_contains("answer");
    if (id.empty() || answer == nullptr) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: line {} is no line of a key; each is {{\"custom_id\": \"a\", "
                               "\"answer\": \"...\"}}",
                               path, number)};
    }
    key[hash128(id)] =
        answer->is_string() ? std::string(answer->get_string()) : json::serialize(*answer);
    return {};
  };
  uint64_t number = 1;
  for (;; ++number) {
    const auto text = lines.next();
    if (!text) return text.error();
    if (!*text) break;
    if (Result<void> added = add(**text, number); !added) return added.error();
  }
  // A file that people wrote may lack the last line end.
  if (Result<void> added = add(lines.torn(), number); !added) return added.error();
  return key;
}

struct RowPair {
  Hash128 identity;
  std::array<const ComparedRow*, 2> rows = {};
};

void compare_pair(const RowPair& pair, Comparison& sums) {
  const ComparedRow& one = *pair.rows[0];
  const ComparedRow& other = *pair.rows[1];
  ++sums.rows_both;
  if (one.failed && other.failed) {
    ++sums.failed_both;
    if (one.code != other.code) ++sums.failed_otherwise;
  } else if (one.failed || other.failed) {
    ++sums.failed_only[one.failed ? 0 : 1];
  } else {
    ++(one.content == other.content ? sums.equal : sums.different);
    if (one.finish != other.finish) ++sums.finish_changed;
  }
}

bool is_example(const RowPair& pair) {
  const ComparedRow& one = *pair.rows[0];
  const ComparedRow& other = *pair.rows[1];
  if (one.failed != other.failed) return true;
  return one.failed ? one.code != other.code : one.content != other.content;
}

// At most so many bytes on one line.
std::string beginning_of(std::string text) {
  constexpr size_t kBytesMax = 200;
  if (text.size() > kBytesMax) {
    size_t size = kBytesMax;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U)
      --size;
    text.resize(size);
    text += "...";
  }
  return text;
}

// Reads the lines of one pair again: the example's texts, and the vectors of both.
void look_again(const RowPair& pair, std::array<Side*, 2> sides, const Names& names, bool example,
                Comparison& sums) {
  CompareExample shown;
  std::array<std::optional<std::vector<double>>, 2> vectors;
  for (size_t i = 0; i < 2; ++i) {
    const ComparedRow& row = *pair.rows[i];
    const json::object* line = sides[i]->line_of(row);
    if (line == nullptr) continue;
    shown.custom_id = text_in(*line, "custom_id");
    if (row.failed) {
      shown.texts[i] = fmt::format("(failed: {})", names.name(row.code));
      continue;
    }
    const json::object* response = object_in(*line, "response");
    const json::object* body = response == nullptr ? nullptr : object_in(*response, "body");
    if (body == nullptr) continue;
    if (row.vector) vectors[i] = embedding_of(*body);
    if (example) shown.texts[i] = beginning_of(content_text(*body));
  }
  if (vectors[0] && vectors[1]) {
    if (const auto angle = cosine(*vectors[0], *vectors[1])) {
      sums.cosine_min = std::min(sums.cosine_min.value_or(*angle), *angle);
      sums.cosine_sum += *angle;
      ++sums.cosines;
    }
  }
  if (example) sums.examples.push_back(std::move(shown));
}

void note_ids(std::vector<const ComparedRow*>& alone, Side& side, size_t ids_max,
              std::vector<std::string>& ids) {
  std::ranges::sort(alone, {}, [](const ComparedRow* row) { return row->offset; });
  for (const ComparedRow* row : alone) {
    if (ids.size() == ids_max) return;
    const json::object* line = side.line_of(*row);
    if (line == nullptr) continue;
    const std::string_view id = text_in(*line, "custom_id");
    ids.emplace_back(id.empty() ? "(a line without custom_id)" : id);
  }
}

}  // namespace

bool is_right(std::string_view answer, std::string_view expected) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto trimmed = [&](std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return std::string_view();
    return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
  };
  answer = trimmed(answer);
  expected = trimmed(expected);
  if (answer == expected) return true;
  const auto one = parse_json(answer);
  const auto other = parse_json(expected);
  const auto* value = std::get_if<json::value>(&one);
  const auto* right = std::get_if<json::value>(&other);
  return value != nullptr && right != nullptr && *value == *right;
}

Result<Comparison> compare_results(store::Disk& disk, const std::string& one,
                                   const std::string& other, const CompareOptions& options) {
  Comparison sums;
  std::optional<Key> key;
  if (!options.key.empty()) {
    Result<Key> read = read_key(disk, options.key);
    if (!read) return read.error();
    key = *std::move(read);
    sums.has_key = true;
    sums.key_rows = static_cast<int64_t>(key->size());
  }
  const Key* judged = key ? &*key : nullptr;
  Names names;
  const std::array<std::unique_ptr<Side>, 2> sides = {
      std::make_unique<Side>(disk, sums.sides[0], names),
      std::make_unique<Side>(disk, sums.sides[1], names)};
  if (Result<void> read = sides[0]->read(one, judged); !read) return read.error();
  if (Result<void> read = sides[1]->read(other, judged); !read) return read.error();

  std::vector<RowPair> differing;
  std::array<std::vector<const ComparedRow*>, 2> alone;
  for (const auto& [identity, row] : sides[0]->rows()) {
    const auto found = sides[1]->rows().find(identity);
    if (found == sides[1]->rows().end()) {
      alone[0].push_back(&row);
      continue;
    }
    const RowPair pair{.identity = identity, .rows = {&row, &found->second}};
    compare_pair(pair, sums);
    if (is_example(pair)) differing.push_back(pair);
  }
  for (const auto& [identity, row] : sides[1]->rows()) {
    if (!sides[0]->rows().contains(identity)) alone[1].push_back(&row);
  }
  for (size_t i = 0; i < 2; ++i) {
    sums.rows_only[i] = static_cast<int64_t>(alone[i].size());
    note_ids(alone[i], *sides[i], options.examples_max, sums.ids_only[i]);
  }
  if (key) {
    for (const auto& [identity, answer] : *key) {
      const auto is_right_in = [&](const std::unique_ptr<Side>& side) {
        const auto found = side->rows().find(identity);
        return found != side->rows().end() && found->second.right;
      };
      const int right = int{is_right_in(sides[0])} + int{is_right_in(sides[1])};
      sums.right_both += right == 2 ? 1 : 0;
      sums.right_neither += right == 0 ? 1 : 0;
    }
  }
  // In the order of the first file, so that the same files give the same examples.
  std::ranges::sort(differing, {}, [](const RowPair& pair) { return pair.rows[0]->offset; });
  for (size_t i = 0; i < differing.size(); ++i) {
    const bool example = i < options.examples_max;
    const bool vectors = differing[i].rows[0]->vector && differing[i].rows[1]->vector;
    if (example || vectors)
      look_again(differing[i], {sides[0].get(), sides[1].get()}, names, example, sums);
  }
  return sums;
}

}  // namespace windrow::report
