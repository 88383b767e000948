#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.h"
#include "json/writer.h"
#include "program/trace/trace.h"

namespace windrow::program {
namespace {

constexpr size_t kLabelColumns = 42;
constexpr std::string_view kColumns = "{:<42}{:>15}{:>8}{:>9}{:>8}{:>8}{:>10}\n";
static_assert(kLabelColumns + 15 + 8 + 9 + 8 + 8 + 10 == 100);

bool is_call(const TraceSpan& span) {
  return span.kind != TraceKind::kInstance && span.kind != TraceKind::kTask;
}

// The passes of one owner, as far as they are kept, in order and each once.
struct KeptPasses {
  int64_t first = 0;  // 0: none
  int64_t last = 0;
  int64_t count = 0;
  int64_t width = 0;

  void add(const LoggedPass& pass) {
    if (last == pass.number) return;
    if (first == 0) first = pass.number;
    last = pass.number;
    ++count;
    width += pass.width;
  }
};

struct CallTokens {
  int64_t calls = 0;
  int64_t shared = 0;  // of prompts, from the prefix cache
  int64_t own = 0;     // of prompts, computed
  int64_t answered = 0;
  int64_t wasted = 0;  // own and answered, of calls that did not end well

  void add(const TraceSpan& call) {
    ++calls;
    shared += call.usage.cached_tokens;
    own += call.usage.prompt_tokens - call.usage.cached_tokens;
    answered += call.usage.completion_tokens;
    if (call.end != TraceEnd::kDone)
      wasted += call.usage.prompt_tokens - call.usage.cached_tokens + call.usage.completion_tokens;
  }
  void add(const CallTokens& other) {
    calls += other.calls;
    shared += other.shared;
    own += other.own;
    answered += other.answered;
    wasted += other.wasted;
  }
  int64_t computed() const { return own + answered; }
};

std::string mean_width(int64_t width, int64_t passes) {
  if (passes == 0) return "-";
  return fmt::format("{:.1f}", static_cast<double>(width) / static_cast<double>(passes));
}

std::string time_of(TimePoint began, TimePoint ended) {
  return fmt::format("{:.3f} s", seconds(std::max(Duration::zero(), ended - began)));
}

// Cut to its columns, between characters.
std::string label(std::string text) {
  constexpr size_t kMax = kLabelColumns - 1;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (text.size() <= kMax) return text;
  size_t end = kMax - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end) + "...";
}

// The spans of one instance as a tree.
struct InstanceTree {
  uint64_t instance = 0;
  const TraceSpan* root = nullptr;  // null: it runs, or its span was lost
  std::vector<const TraceSpan*> tasks;
  std::vector<const TraceSpan*> calls;
};

class TextWriter {
 public:
  TextWriter(const Trace::Kept& trace, const PassLog::Kept& passes)
      : trace_(trace), passes_(passes) {}

  std::string write(size_t instances_max) && {
    collect();
    append_format(text_, kColumns, "", "passes", "width", "shared", "own", "answer", "time");
    size_t shown = 0;
    for (const InstanceTree& tree : trees_) {
      if (shown++ == instances_max) break;
      write_instance(tree);
    }
    if (trees_.size() > instances_max)
      append_format(text_, "({} more instances)\n", trees_.size() - instances_max);
    write_stages();
    write_width();
    write_lost();
    return std::move(text_);
  }

 private:
  void collect() {
    std::map<uint64_t, InstanceTree> trees;
    for (const TraceSpan& span : trace_.spans) {
      InstanceTree& tree = trees[span.instance];
      tree.instance = span.instance;
      if (span.kind == TraceKind::kInstance) tree.root = &span;
      if (span.kind == TraceKind::kTask) tree.tasks.push_back(&span);
      if (!is_call(span)) continue;
      tree.calls.push_back(&span);
      if (span.tag != 0) instance_of_tag_[span.tag] = span.instance;
    }
    for (auto& [instance, tree] : trees)
      trees_.push_back(std::move(tree));
    for (const LoggedPass& pass : passes_.passes) {
      for (const llm::RowTrace& row : pass.rows) {
        of_tag_[row.tag].add(pass);
        const auto owner = instance_of_tag_.find(row.tag);
        if (owner != instance_of_tag_.end()) of_instance_[owner->second].add(pass);
      }
    }
  }

  void write_instance(const InstanceTree& tree) {
    CallTokens tokens;
    for (const TraceSpan* call : tree.calls)
      tokens.add(*call);
    std::string name = tree.root == nullptr || tree.root->name.empty()
                           ? fmt::format("instance {}", tree.instance)
                           : tree.root->name;
    name += tree.root == nullptr ? ", not ended" : end_of(*tree.root);
    const KeptPasses& kept = of_instance_[tree.instance];
    write_row(std::move(name), numbers_of(kept, kept.count), mean_width(kept.width, kept.count),
              tokens, tree.root == nullptr ? "-" : time_of(tree.root->began, tree.root->ended));
    // Tasks whose parent is not known stand under the instance.
    std::map<uint32_t, std::vector<const TraceSpan*>> children;
    const uint32_t first_task = 1;
    const auto is_known = [&](uint32_t task) {
      return std::ranges::any_of(tree.tasks,
                                 [&](const TraceSpan* span) { return span->task == task; });
    };
    boost::unordered_flat_map<uint32_t, uint32_t> shown_under;
    const auto place = [&](uint32_t task) {
      const auto [found, added] = shown_under.try_emplace(task, first_task);
      if (added && is_known(task)) found->second = task;
      return found->second;
    };
    for (const TraceSpan* task : tree.tasks)
      children[task->parent == task->task ? first_task : place(task->parent)].push_back(task);
    for (const TraceSpan* call : tree.calls)
      children[place(call->task)].push_back(call);
    write_children(children, first_task, 1);
  }

  void write_children(std::map<uint32_t, std::vector<const TraceSpan*>>& children, uint32_t task,
                      size_t depth) {
    std::vector<const TraceSpan*> spans = std::exchange(children[task], {});
    std::ranges::sort(spans, [](const TraceSpan* one, const TraceSpan* other) {
      return std::tuple(one->began, one->task, one->tag) <
             std::tuple(other->began, other->task, other->tag);
    });
    for (const TraceSpan* span : spans) {
      write_span(*span, depth);
      if (span->kind == TraceKind::kTask) write_children(children, span->task, depth + 1);
    }
  }

  void write_span(const TraceSpan& span, size_t depth) {
    std::string name;
    for (size_t i = 1; i < depth; ++i)
      name += "| ";
    name += "+ ";
    name += span.name.empty() ? to_string(span.kind) : std::string_view(span.name);
    if (!span.stage.empty() && is_call(span)) name += fmt::format(" ({})", span.stage);
    name += end_of(span);
    if (!is_call(span)) {
      append_format(text_, kColumns, label(std::move(name)), "", "", "", "", "",
                    time_of(span.began, span.ended));
      return;
    }
    CallTokens tokens;
    tokens.add(span);
    write_row(std::move(name), numbers_of(of_tag_[span.tag], span.passes.passes),
              mean_width(span.passes.width, span.passes.passes), tokens,
              time_of(span.began, span.ended));
  }

  static std::string end_of(const TraceSpan& span) {
    return span.end == TraceEnd::kDone ? "" : fmt::format(", {}", to_string(span.end));
  }

  // "3-258"; "..3-258" where earlier ones are not kept any more, "(256)" where none is.
  static std::string numbers_of(const KeptPasses& kept, int64_t count) {
    if (count == 0) return "-";
    if (kept.count == 0) return fmt::format("({})", count);
    const std::string_view earlier = kept.count < count ? ".." : "";
    if (kept.first == kept.last) return fmt::format("{}{}", earlier, kept.first);
    return fmt::format("{}{}-{}", earlier, kept.first, kept.last);
  }

  void write_row(std::string name, std::string_view numbers, std::string_view width,
                 const CallTokens& tokens, std::string_view time) {
    append_format(text_, kColumns, label(std::move(name)), numbers, width,
                  with_thousands(tokens.shared), with_thousands(tokens.own),
                  with_thousands(tokens.answered), time);
  }

  void write_stages() {
    std::vector<std::pair<std::string_view, CallTokens>>
        stages;  // in the order in which calls ended
    CallTokens all;
    for (const InstanceTree& tree : trees_) {
      for (const TraceSpan* call : tree.calls) {
        auto stage = std::ranges::find(stages, call->stage, &decltype(stages)::value_type::first);
        if (stage == stages.end()) stage = stages.insert(stages.end(), {call->stage, {}});
        stage->second.add(*call);
        all.add(*call);
      }
    }
    constexpr std::string_view kStageColumns = "{:<42}{:>15}{:>17}{:>8}{:>8}{:>10}\n";
    append_format(text_, "\n");
    append_format(text_, kStageColumns, "tokens by stage", "calls", "shared", "own", "answer",
                  "wasted");
    const auto write = [&](std::string_view name, const CallTokens& tokens) {
      append_format(text_, kStageColumns, label(std::string(name)), with_thousands(tokens.calls),
                    with_thousands(tokens.shared), with_thousands(tokens.own),
                    with_thousands(tokens.answered), with_thousands(tokens.wasted));
    };
    for (const auto& [name, tokens] : stages)
      write(name.empty() ? "(no stage)" : name, tokens);
    write("all", all);
    if (all.wasted > 0) {
      append_format(text_,
                    "wasted: {} of {} computed tokens, in calls that were cancelled or failed\n",
                    with_thousands(all.wasted), with_thousands(all.computed()));
    }
  }

  void write_width() {
    if (passes_.passes.empty()) return;
    int64_t width = 0;
    for (const LoggedPass& pass : passes_.passes)
      width += pass.width;
    const auto count = static_cast<int64_t>(passes_.passes.size());
    append_format(text_, "{} passes, mean width {} rows\n", with_thousands(count),
                  mean_width(width, count));
  }

  void write_lost() {
    if (trace_.lost > 0)
      append_format(text_, "{} earlier spans are missing: there were more than are kept\n",
                    with_thousands(trace_.lost));
    if (passes_.lost > 0)
      append_format(text_, "{} earlier passes are missing: there were more than are kept\n",
                    with_thousands(passes_.lost));
  }

  const Trace::Kept& trace_;
  const PassLog::Kept& passes_;
  std::vector<InstanceTree> trees_;
  boost::unordered_flat_map<uint64_t, uint64_t> instance_of_tag_;
  boost::unordered_flat_map<uint64_t, KeptPasses> of_tag_;
  boost::unordered_flat_map<uint64_t, KeptPasses> of_instance_;
  std::string text_;
};

}  // namespace

std::string trace_as_text(const Trace::Kept& trace, const PassLog::Kept& passes,
                          size_t instances_max) {
  return TextWriter(trace, passes).write(instances_max);
}

}  // namespace windrow::program
