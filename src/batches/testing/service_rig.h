// ServiceRig: a server's batches in a folder of their own, with a model that a test scripts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/eventually.h"
#include "base/testing/manual_clock.h"
#include "batches/batch_service.h"
#include "dispatch/dispatcher.h"
#include "dispatch/models.h"
#include "llm/testing/scripted_backend.h"
#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::batches::testing {

inline std::string row(std::string_view id, std::string_view prompt, std::string_view model = "m") {
  return fmt::format(
      "{{\"custom_id\":\"{}\",\"method\":\"POST\",\"url\":\"/v1/completions\","
      "\"body\":{{\"model\":\"{}\",\"prompt\":\"{}\"}}}}\n",
      id, model, prompt);
}

inline std::string rows(int count) {
  std::string input;
  for (int i = 0; i < count; ++i)
    input += row(fmt::format("r{}", i), fmt::format("p{}", i));
  return input;
}

// Answers "echo PROMPT"; a prompt that begins with "bad" cannot be answered.
inline llm::Outcome echo(const llm::Request& request) {
  const std::string& prompt = request.inputs.at(0).text;
  if (prompt.starts_with("bad"))
    return llm::Failure{.status = 400, .code = "cannot", .message = "no"};
  llm::Answer answer;
  answer.choices = {{.text = "echo " + prompt}};
  answer.usage = {.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = 1};
  return answer;
}

// One model, "m", also called "alias" and "other", and "gone" while it is there.
class OneModel final : public dispatch::Models {
 public:
  explicit OneModel(dispatch::Dispatcher& dispatcher) : dispatcher_(dispatcher) {}

  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint, std::string_view name) override {
    if (on_find) on_find(name);
    if (name == "m" || name == "alias" || name == "other" || (name == "gone" && gone_is_there))
      return dispatch::Model{.name = name == "gone" ? "gone" : "m", .dispatcher = &dispatcher_};
    return llm::Failure{.status = 404,
                        .code = "model_not_found",
                        .message = "there is no model " + std::string(name)};
  }
  uint64_t upstreams_of(std::string_view) override { return 0; }
  bool is_waited_for(std::string_view name) override {
    return name == "other" && other_is_waited_for;
  }
  std::string unavailable() override { return is_unavailable ? "nobody is there" : ""; }

  std::function<void(std::string_view)> on_find;  // set before it is used; any thread
  std::atomic<bool> gone_is_there = true;
  std::atomic<bool> is_unavailable = false;
  std::atomic<bool> other_is_waited_for = false;

 private:
  dispatch::Dispatcher& dispatcher_;
};

class ServiceRig : public ::testing::Test {
 public:
  ~ServiceRig() override { close(); }

 protected:
  using Script = llm::testing::ScriptedBackend::Script;

  // ScriptedOptions::before_answer, of backends that are opened afterwards.
  std::function<void(const llm::BackendCall&)> before_answer;

  // What a process has; what lies in the folder stays.
  void open(Script script = echo, BatchOptions options = {}) {
    close();
    {
      const std::scoped_lock lock(mutex_);
      asked_.clear();
    }
    backend = std::make_unique<llm::testing::ScriptedBackend>(
        std::move(script),
        llm::testing::ScriptedOptions{.before_answer = [this](const llm::BackendCall& call) {
          {
            const std::scoped_lock lock(mutex_);
            asked_.push_back(call.request->inputs.at(0).text);
          }
          if (before_answer) before_answer(call);
        }});
    dispatcher = std::make_unique<dispatch::Dispatcher>(
        *backend, dispatch::DispatchOptions{.in_flight_max = 4, .waiting_max = 100});
    models = std::make_unique<OneModel>(*dispatcher);
    std::vector<std::string> damaged;
    auto opened = DataDir::open(folder.path(), damaged);
    ASSERT_TRUE(opened) << opened.error().message;
    data = *std::move(opened);
    files = *FileStore::open(*data, disk, clock, {.file_bytes_max = 1 << 20});
    options.retry_after = std::chrono::seconds(10);
    options.warn = [this](const std::string& what) {
      const std::scoped_lock lock(mutex_);
      warnings_.push_back(what);
    };
    auto begun = BatchService::open(*data, *files, disk, clock, std::move(options));
    ASSERT_TRUE(begun) << begun.error().message;
    service = *std::move(begun);
  }

  void start() { service->start(*models); }

  void close() {
    service.reset();
    files.reset();
    data.reset();
    models.reset();
    dispatcher.reset();
    backend.reset();
  }

  std::string upload(const std::string& bytes, const Viewer& owner = {.sees_all = true}) {
    auto begun = files->begin_upload();
    auto& upload = *std::get<std::unique_ptr<FileStore::Upload>>(begun);
    (void)upload.append(bytes);
    return std::get<StoredFile>(upload.finish(owner, {.filename = "in", .purpose = "batch"})).id;
  }

  static BatchRequest request(const std::string& file) {
    return {.input_file_id = file, .endpoint = llm::Endpoint::kCompletions};
  }

  std::string create(const std::string& bytes) {
    auto made = service->create(me, request(upload(bytes)), "");
    if (const auto* failure = std::get_if<llm::Failure>(&made)) return failure->code;
    return std::get<BatchView>(made).record.id;
  }

  BatchView view(const std::string& id) { return std::get<BatchView>(service->get(me, id)); }

  // Reads the batch until the condition holds. One that never does (the batch waits for a clock
  // that the test does not move, say) fails the test with what the batch and the service said last.
  template <class Condition>
  BatchView wait_until(const std::string& id, const Condition& condition) {
    std::optional<BatchView> now;
    const bool came = windrow::testing::eventually([&] {
      now = view(id);
      return condition(*now);
    });
    if (!came) {
      ADD_FAILURE() << fmt::format("{} is {} with {} of {} rows, note \"{}\"; warnings: {}", id,
                                   to_string(now->record.state.status),
                                   now->record.counts.completed + now->record.counts.failed,
                                   now->record.counts.total, now->note,
                                   fmt::join(warnings(), "; "));
    }
    return *now;
  }

  BatchRecord wait_for(const std::string& id, BatchStatus status) {
    return wait_until(
               id,
               [&](const BatchView& now) {
                 if (now.record.state.status != status && is_final(now.record.state.status)) {
                   ADD_FAILURE() << "it is " << to_string(now.record.state.status);
                   return true;
                 }
                 return now.record.state.status == status;
               })
        .record;
  }

  std::string content(const std::optional<std::string>& id) {
    if (!id) return "";
    auto opened = files->open_content(me, *id);
    auto& found = std::get<FileContent>(opened);
    std::string bytes(static_cast<size_t>(found.file.bytes), '\0');
    EXPECT_EQ(found.bytes->read_at(0, bytes.data(), bytes.size()).value(), bytes.size());
    return bytes;
  }

  // custom_id -> the text of the answer, or the code of the failure. Each row once.
  std::map<std::string, std::string> outcomes(const BatchRecord& record) {
    std::map<std::string, std::string> outcomes;
    for (const auto& file : {record.output_file_id, record.error_file_id}) {
      std::string_view left;
      const std::string bytes = content(file);
      for (left = bytes; !left.empty();) {
        const size_t end = left.find('\n');
        const boost::json::value line = boost::json::parse(left.substr(0, end));
        left.remove_prefix(end + 1);
        const std::string id(line.at("custom_id").as_string());
        const std::string text(
            file == record.output_file_id
                ? line.at("response").at("body").at("choices").at(0).at("text").as_string()
                : line.at("error").at("code").as_string());
        EXPECT_TRUE(outcomes.emplace(id, text).second) << id << " twice";
      }
    }
    return outcomes;
  }

  std::vector<std::string> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  std::vector<std::string> warnings() const {
    const std::scoped_lock lock(mutex_);
    return warnings_;
  }

  const Viewer me{.key = "", .sees_all = true};
  const store::testing::TemporaryFolder folder;
  store::PosixDisk posix;
  store::testing::FaultyDisk disk{posix};
  windrow::testing::ManualClock clock;
  std::unique_ptr<llm::testing::ScriptedBackend> backend;
  std::unique_ptr<dispatch::Dispatcher> dispatcher;
  std::unique_ptr<OneModel> models;
  std::unique_ptr<DataDir> data;
  std::unique_ptr<FileStore> files;
  std::unique_ptr<BatchService> service;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;  // prompts, since open()
  std::vector<std::string> warnings_;
};

}  // namespace windrow::batches::testing
