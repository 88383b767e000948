#include "batches/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "batch/row.h"
#include "batch/row_index.h"
#include "batch/row_reader.h"
#include "llm/request_json.h"

namespace windrow::batches {

namespace json = boost::json;

namespace {

// How much of a line's text a message repeats.
constexpr size_t kShownBytes = 80;

std::string shown(std::string_view text) {
  if (text.size() <= kShownBytes) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}...\"", utf8_repair(text.substr(0, kShownBytes)));
}

// How many texts a body has to embed; an array of numbers is one text, as tokens.
int64_t texts_of(const json::object& body) {
  const json::value* input = body.if_contains("input");
  const json::array* list = input == nullptr ? nullptr : input->if_array();
  if (list == nullptr || list->empty() || list->front().is_number()) return 1;
  return static_cast<int64_t>(list->size());
}

class Validator {
 public:
  explicit Validator(const ValidationRules& rules)
      : rules_(rules), reader_({.models = {"any"}, .any_model = true, .raw = true}) {}

  // False if reading on is useless.
  bool check(const batch::Line& line) {
    if (line.beyond) {
      add(line, "file_too_large",
          fmt::format(
              "the unpacked file is larger than {}, the limit of this server (reached in line "
              "{}); split it, or ask the operator to raise --max-file-mb, which raises this "
              "limit too",
              human_bytes(rules_.text_bytes_max), with_thousands(number_of(line))),
          "");
      return false;
    }
    if (++rows_ > rules_.rows_max) {
      rows_ = rules_.rows_max;
      return refuse_further(line, "requests");
    }
    auto opened = reader_.open(line);
    if (const auto* fault = std::get_if<batch::RowFault>(&opened)) {
      const bool no_json = fault->failure.code == "invalid_json_line";
      add({.code = no_json ? fault->failure.code : "invalid_request",
           .message = fault->failure.message,
           .param = fault->failure.param,
           .line = static_cast<int64_t>(line.number)});
      return true;
    }
    const auto& envelope = std::get<batch::Envelope>(opened);
    const uint64_t fingerprint = batch::line_fingerprint(line.bytes, line.length);
    if (index_.lookup_row(batch::Pass::kCheck, envelope.key, fingerprint) != batch::Verdict::kRun) {
      add(line, "duplicate_custom_id",
          fmt::format("line {} has the custom_id {}, which an earlier line has; give each line one "
                      "of its own",
                      line.number, shown(envelope.key.custom_id)),
          "custom_id");
      return true;
    }
    check(line, envelope.line);
    return texts_ <= rules_.rows_max || refuse_further(line, "texts to embed");
  }

  std::variant<CheckedInput, std::vector<BatchFault>> finish() {
    if (rows_ == 0 && faults_.empty()) {
      add({.code = "empty_file",
           .message = "the file has no requests; write one JSON object per line"});
    }
    if (faults_.empty()) return CheckedInput{.rows = rows_, .models = std::move(models_)};
    if (unlisted_faults_ > 0) {
      faults_.push_back({.code = "too_many_errors",
                         .message = fmt::format("{} more lines are at fault; only the first {} are "
                                                "listed",
                                                with_thousands(unlisted_faults_), kFaultsMax)});
    }
    return std::move(faults_);
  }

  void add(BatchFault fault) {
    if (faults_.size() < kFaultsMax) {
      faults_.push_back(std::move(fault));
    } else {
      ++unlisted_faults_;
    }
  }

 private:
  static int64_t number_of(const batch::Line& line) { return static_cast<int64_t>(line.number); }

  void add(const batch::Line& line, std::string code, std::string message, std::string param) {
    add({.code = std::move(code),
         .message = std::move(message),
         .param = std::move(param),
         .line = number_of(line)});
  }

  bool refuse_further(const batch::Line& line, std::string_view what) {
    add(line, "too_many_tasks",
        fmt::format("the file has more than {} {}, the limit of this server; split it, or "
                    "ask the operator to raise --max-batch-rows",
                    with_thousands(rules_.rows_max), what),
        "");
    return false;
  }

  void check(const batch::Line& line, const json::object& members) {
    const json::value* method = members.if_contains("method");
    if (method == nullptr || !method->is_string() || method->get_string() != "POST") {
      return add(line, "invalid_request",
                 fmt::format("line {} needs \"method\": \"POST\"", line.number), "method");
    }
    const std::string_view expected =
        rules_.api_url.empty() ? llm::url_of(rules_.endpoint) : std::string_view(rules_.api_url);
    const json::value* url = members.if_contains("url");
    if (url == nullptr || !url->is_string() || url->get_string() != expected) {
      return add(line, "url_mismatch",
                 url != nullptr && url->is_string()
                     ? fmt::format("line {} has the url {}; the endpoint of the batch is {}",
                                   line.number, shown(url->get_string()), expected)
                     : fmt::format("line {} has no url; it must be {}, the endpoint of the batch",
                                   line.number, expected),
                 "url");
    }
    const json::value* body = members.if_contains("body");
    if (body == nullptr || !body->is_object()) {
      return add(line, "invalid_request",
                 fmt::format("line {} has no body; it must be an object", line.number), "body");
    }
    const json::value* model = body->get_object().if_contains("model");
    if (model != nullptr && !model->is_null() && !model->is_string()) {
      return add(line, "invalid_request",
                 fmt::format("the model of line {} must be a string", line.number), "body.model");
    }
    if (rules_.endpoint == llm::Endpoint::kEmbeddings) texts_ += texts_of(body->get_object());
    check_model(line, model != nullptr && model->is_string() ? std::string(model->get_string())
                                                             : std::string());
  }

  void check_model(const batch::Line& line, const std::string& name) {
    if (std::ranges::find(models_, name) != models_.end()) return;
    const auto refused = refused_.find(name);
    std::variant<std::string, llm::Failure> found = std::string();
    if (refused != refused_.end()) {
      found = refused->second;
    } else {
      found = rules_.find_model(name);
    }
    if (const auto* failure = std::get_if<llm::Failure>(&found)) {
      if (refused_.size() < kModelsMax) refused_.emplace(name, *failure);
      return add(line, failure->code, fmt::format("line {}: {}", line.number, failure->message),
                 "body.model");
    }
    // One model may have several names.
    if (models_.empty()) first_model_ = std::get<std::string>(found);
    if (std::get<std::string>(found) != first_model_ && !rules_.mixed_models) {
      return add(line, "model_mismatch",
                 fmt::format("line {} names the model {} and earlier lines {}; a batch has one "
                             "model: make a file for each model",
                             line.number, shown(name), shown(models_.front())),
                 "body.model");
    }
    if (models_.size() >= kModelsMax) {
      return add(line, "model_mismatch",
                 fmt::format("line {} names another model; one file may name at most {}",
                             line.number, kModelsMax),
                 "body.model");
    }
    models_.push_back(name);
  }

  const ValidationRules& rules_;
  const batch::RowReader reader_;
  batch::RowIndex index_;
  int64_t rows_ = 0;
  int64_t texts_ = 0;                // to embed
  std::vector<std::string> models_;  // as rows name them
  std::string first_model_;          // its own name
  std::map<std::string, llm::Failure> refused_;
  std::vector<BatchFault> faults_;
  int64_t unlisted_faults_ = 0;
};

}  // namespace

Result<std::variant<CheckedInput, std::vector<BatchFault>>> validate(batch::LineSource& lines,
                                                                     const ValidationRules& rules) {
  Validator validator(rules);
  for (;;) {
    const auto line = lines.next();
    if (!line) {
      if (line.error().kind != ErrorKind::kInvalid) return line.error();
      validator.add({.code = "invalid_request", .message = line.error().message});
      break;
    }
    if (!*line || !validator.check(**line)) break;
  }
  return validator.finish();
}

}  // namespace windrow::batches
