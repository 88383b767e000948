#include "app/commands/probe_requests.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "batch/input.h"
#include "batch/line_source.h"
#include "batch/row_reader.h"
#include "llm/raw_body.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

// More rows than a probe is likely to send, and no more memory than it may take.
constexpr size_t kRowsMax = 4096;
constexpr size_t kRowBytesMax = size_t{64} << 20;

Result<std::vector<llm::Request>> read_rows(const std::string& path, const std::string& model) {
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(path);
  if (!input) return input.error();
  const Result<std::unique_ptr<batch::LineSource>> lines = batch::open_lines(**input);
  if (!lines) return lines.error();
  // Its name stands for every other.
  const batch::RowReader reader({.models = {model}, .any_model = true, .raw = true});
  std::vector<llm::Request> rows;
  size_t bytes = 0;
  std::string first_fault;
  while (rows.size() < kRowsMax && bytes < kRowBytesMax) {
    const Result<std::optional<batch::Line>> line = (*lines)->next();
    if (!line) return line.error();
    if (!*line) break;
    batch::RowOrFault read = reader.read(**line);
    if (auto* fault = std::get_if<batch::RowFault>(&read)) {
      if (first_fault.empty())
        first_fault = fmt::format("; line {}: {}", fault->key.line, fault->failure.message);
      continue;
    }
    llm::Request& request = std::get<batch::Row>(read).request;
    if (!model.empty()) {
      request.raw = llm::with_member(request.raw, "model", json::serialize(json::string(model)));
      request.model = model;
    }
    bytes += request.raw.size();
    rows.push_back(std::move(request));
  }
  if (rows.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: there is no row that could be sent{}", path, first_fault)};
  }
  return rows;
}

}  // namespace

Result<ProbeRequests> ProbeRequests::open(const ProbeCommand& command, const std::string& model) {
  ProbeRequests requests;
  requests.model_ = model;
  requests.prompt_ = command.prompt;
  requests.output_tokens_ = command.output_tokens;
  if (!command.input.empty()) {
    Result<std::vector<llm::Request>> rows = read_rows(command.input, model);
    if (!rows) return rows.error();
    requests.rows_ = *std::move(rows);
  }
  return requests;
}

llm::Request ProbeRequests::next() {
  ++given_;
  return rows_.empty() ? made() : rows_[(given_ - 1) % rows_.size()];
}

// The number stands in front, so that no cache of prompts answers for the server.
llm::Request ProbeRequests::made() const {
  const std::string text =
      !prompt_.empty()
          ? prompt_
          : fmt::format(
                "Task {}. Describe in about two hundred words how a river changes on its "
                "way from the mountains to the sea.",
                given_);
  json::object members{
      {"model", model_},
      {"messages", json::array{json::object{{"role", "user"}, {"content", text}}}}};
  if (output_tokens_ > 0) members["max_tokens"] = output_tokens_;
  return llm::raw_request(llm::Endpoint::kChatCompletions, json::serialize(members), members, {});
}

}  // namespace windrow::app
