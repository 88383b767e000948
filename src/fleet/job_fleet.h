// JobFleet: what answers the rows of a job, models in this process or upstream servers. The job
// cannot tell which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "dispatch/dispatcher.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/request.h"
#include "llm/request_json.h"
#include "llm/tokenizer.h"
#include "llm/upstream_status.h"

namespace windrow::fleet {

struct JobStart {
  int64_t began_unix_s = 0;  // what chat templates take for today

  // Asked now and then while models are loaded or servers asked: why the job is refused already.
  // May be empty.
  std::function<std::optional<Error>()> refusal;

  // No more may be spent: the job should stop. Any thread.
  std::function<void()> on_budget_spent;

  // Nothing will ever be answered; final_error() says why. Any thread.
  std::function<void()> on_all_failed;
};

// Rows that name this model go to this dispatcher. A fleet with one route takes all rows.
struct JobRoute {
  std::string model;
  dispatch::Dispatcher* dispatcher = nullptr;
  bool raw = false;  // upstreams answer: bodies are sent as they were written

  // Of a model in this process: what it answers, and whether it was made to embed or to rank.
  llm::EndpointSet endpoints = {};
  bool embeds_first = false;

  std::vector<std::string> listed = {};  // raw: the models that the servers list
};

// What a job calls for its rows, on its own threads. Empty functions: there is nothing to do.
struct JobHooks {
  // Why a request would fail, as far as that shows without answering it.
  std::function<std::optional<llm::Failure>(const llm::Request&)> check;

  // Called before a row is submitted; may submit a request of its own.
  std::function<void(const llm::Request&)> before_row;

  // Which servers have a model, as WorkItem::upstreams.
  std::function<uint64_t(const std::string& model)> upstreams_of;

  // The highest cost of a request; a Failure where it must be known and is not.
  std::function<std::variant<dispatch::Cost, llm::Failure>(const llm::Request&)> expected_cost;
};

// open() first, on one thread; the methods of the second group only after it has succeeded.
class JobFleet {
 public:
  virtual ~JobFleet() = default;

  // Loads weights, or asks the servers what they have. Blocks. Errors of what is opened, and what
  // JobStart::refusal returned.
  virtual Result<void> open(const JobStart& start) = 0;

  // --- Any time, any thread. ---

  virtual llm::BackendStats stats() const = 0;

  // Of each server; empty for models in this process. May start questions to the servers about
  // their memory, and does not wait for them.
  virtual std::vector<llm::UpstreamStatus> upstreams() = 0;

  // Requests that wait to be tried again after a failure.
  virtual dispatch::RetryReading retries() const { return {}; }

  // --- After open(). ---

  virtual dispatch::DispatchCounts counts() const = 0;
  virtual std::vector<JobRoute> routes() const = 0;
  virtual JobHooks hooks() = 0;

  // The tokenizer of a route's model in this process; it must not outlive the fleet. kNotFound for
  // models of servers; else as loaded_tokenizer (load_tokenizer.h).
  virtual Result<std::shared_ptr<const llm::Tokenizer>> tokenizer(std::string_view model) const = 0;

  // What the owner of the job should know before the rows run; may be empty.
  virtual std::string note() const = 0;

  // What computes, for the summary.
  virtual std::string runtime() const = 0;

  // When the rows have ended: why the job is worth nothing, as no server answers or no answer can
  // be trusted. Waits for requests that before_row submitted.
  virtual std::optional<Error> final_error() = 0;

  // When the rows have ended: what the owner should know.
  virtual std::vector<std::string> final_notes() const = 0;
};

}  // namespace windrow::fleet
