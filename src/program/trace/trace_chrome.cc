#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "json/writer.h"
#include "program/trace/trace.h"

namespace windrow::program {
namespace {

// The format's processes are numbers: the engine is the first, instances follow.
constexpr uint64_t kEngineProcess = 1;
constexpr uint32_t kEngineThread = 1;
constexpr uint32_t kFirstTask = 1;

uint64_t process_of(uint64_t instance) {
  return kEngineProcess + instance;
}

class ChromeWriter {
 public:
  explicit ChromeWriter(TimePoint start) : start_(start) {}

  void name_process(uint64_t process, std::string_view name, uint64_t position) {
    name_row("process_name", process, 0, name);
    begin("M", "process_sort_index", process, 0);
    append_format(text_, R"(,"args":{{"sort_index":{}}}}})", position);
  }

  void name_thread(uint64_t process, uint32_t thread, std::string_view name) {
    name_row("thread_name", process, thread, name);
  }

  void pass(const LoggedPass& pass) {
    begin("X", "pass", kEngineProcess, kEngineThread);
    append_time(pass.end - pass.duration, pass.end);
    int64_t tokens = 0;
    for (const llm::RowTrace& row : pass.rows)
      tokens += row.tokens;
    append_format(text_,
                  R"(,"args":{{"number":{},"width":{},"rows_of_programs":{},)"
                  R"("tokens_of_programs":{}}}}})",
                  pass.number, pass.width, pass.rows.size(), tokens);
    rows_counter(pass.end - pass.duration, pass.width);
  }

  void rows_counter(TimePoint when, int32_t width) {
    begin("C", "rows", kEngineProcess, kEngineThread);
    text_ += R"(,"ts":)";
    append_us(when - start_);
    append_format(text_, R"(,"args":{{"rows":{}}}}})", width);
  }

  void span(const TraceSpan& span) {
    const bool is_call = span.kind != TraceKind::kInstance && span.kind != TraceKind::kTask;
    begin("X", span.name.empty() ? to_string(span.kind) : std::string_view(span.name),
          process_of(span.instance), span.task);
    append_format(text_, R"(,"cat":"{}")", to_string(span.kind));
    append_time(span.began, span.ended);
    append_format(text_, R"(,"args":{{"end":"{}")", to_string(span.end));
    if (!span.stage.empty()) {
      text_ += R"(,"stage":)";
      append_json(span.stage, text_);
    }
    if (is_call) append_counts(span);
    text_ += "}}";
  }

  std::string finish(int64_t spans_lost, int64_t passes_lost) && {
    append_format(text_,
                  "\n],\"displayTimeUnit\":\"ms\",\"otherData\":"
                  "{{\"spans_lost\":{},\"passes_lost\":{}}}}}\n",
                  spans_lost, passes_lost);
    return std::move(text_);
  }

 private:
  void begin(std::string_view phase, std::string_view name, uint64_t process, uint32_t thread) {
    text_ += std::exchange(first_, false) ? "\n" : ",\n";
    append_format(text_, R"({{"ph":"{}","name":)", phase);
    append_json(name, text_);
    append_format(text_, R"(,"pid":{},"tid":{})", process, thread);
  }

  void name_row(std::string_view what, uint64_t process, uint32_t thread, std::string_view name) {
    begin("M", what, process, thread);
    text_ += R"(,"args":{"name":)";
    append_json(name, text_);
    text_ += "}}";
  }

  void append_time(TimePoint began, TimePoint ended) {
    text_ += R"(,"ts":)";
    append_us(began - start_);
    text_ += R"(,"dur":)";
    append_us(std::max(Duration::zero(), ended - began));
  }

  // Microseconds, exactly.
  void append_us(Duration time) {
    append_format(text_, "{}.{:03}", time.count() / 1000, time.count() % 1000);
  }

  void append_counts(const TraceSpan& span) {
    append_format(text_, R"(,"prompt_tokens":{},"cached_tokens":{},"completion_tokens":{})",
                  span.usage.prompt_tokens, span.usage.cached_tokens, span.usage.completion_tokens);
    if (span.passes.passes == 0) return;
    append_format(text_, R"(,"tag":{},"passes":{},"mean_width":{:.2f})", span.tag,
                  span.passes.passes,
                  static_cast<double>(span.passes.width) / static_cast<double>(span.passes.passes));
  }

  const TimePoint start_;
  std::string text_ = "{\"traceEvents\":[";
  bool first_ = true;
};

TimePoint first_event(const Trace::Kept& trace, const PassLog::Kept& passes) {
  TimePoint first = TimePoint::max();
  for (const TraceSpan& span : trace.spans)
    first = std::min(first, span.began);
  for (const LoggedPass& pass : passes.passes)
    first = std::min(first, pass.end - pass.duration);
  return first;
}

// What the rows of the view are called: instances by their ids, tasks by their names.
void write_names(const Trace::Kept& trace, ChromeWriter& writer) {
  std::map<uint64_t, std::string> instances;
  std::map<std::pair<uint64_t, uint32_t>, std::string> tasks;
  for (const TraceSpan& span : trace.spans) {
    std::string& instance = instances[span.instance];
    std::string& task = tasks[{span.instance, span.task}];
    if (span.kind == TraceKind::kInstance) instance = span.name;
    if (span.kind == TraceKind::kTask) task = span.name;
  }
  for (const auto& [instance, name] : instances) {
    const uint64_t process = process_of(instance);
    writer.name_process(process, name.empty() ? fmt::format("instance {}", instance) : name,
                        process);
  }
  for (const auto& [place, name] : tasks) {
    const auto& [instance, task] = place;
    writer.name_thread(process_of(instance), task,
                       name.empty()
                           ? (task == kFirstTask ? "program" : fmt::format("task {}", task))
                           : fmt::format("{} (task {})", name, task));
  }
}

}  // namespace

std::string trace_as_chrome_json(const Trace::Kept& trace, const PassLog::Kept& passes) {
  ChromeWriter writer(first_event(trace, passes));
  if (!passes.passes.empty()) {
    writer.name_process(kEngineProcess, "engine", 0);
    writer.name_thread(kEngineProcess, kEngineThread, "forward passes");
  }
  write_names(trace, writer);
  for (const LoggedPass& pass : passes.passes)
    writer.pass(pass);
  if (!passes.passes.empty()) writer.rows_counter(passes.passes.back().end, 0);
  for (const TraceSpan& span : trace.spans)
    writer.span(span);
  return std::move(writer).finish(trace.lost, passes.lost);
}

}  // namespace windrow::program
