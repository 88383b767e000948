// bench_maskbench: MaskBench (guidance-ai/jsonschemabench) on the grammars of this project. One
// thread. A schema passes when it compiles, every token of its valid instances is in the mask
// before it and the text may end behind the last one, and each of its invalid instances is stopped
// by a mask or may not end. The benchmark itself judges by the tokens alone; that is counted, too.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "grammar/maskbench/causes.h"
#include "grammar/maskbench/heap_use.h"
#include "grammar/matcher.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/times.h"
#include "grammar/token_tables.h"
#include "grammar/vocabulary_source.h"

namespace windrow::bench {
namespace {

namespace json = boost::json;
using grammar::CompiledGrammar;
using grammar::Matcher;
using grammar::TokenTables;

struct MaskBenchOptions {
  std::string folder;
  std::string failures;
  std::string skip;
  std::string only;
  double slow_ms = 0;
  double slow_mask_us = 0;
  double large_mb = 0;
  size_t every = 1;
  int64_t deadline_ms = 10'000;
  bool closed = false;
  bool spaced = false;
  bool any_order = false;
  bool causes = false;
};

enum class Verdict : uint8_t {
  kPassing,
  kCompileError,
  kValidationError,    // a valid instance is rejected
  kInvalidationError,  // an invalid instance is accepted
};

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassing:
      return "passing";
    case Verdict::kCompileError:
      return "compile error";
    case Verdict::kValidationError:
      return "validation error";
    case Verdict::kInvalidationError:
      break;
  }
  return "invalidation error";
}

struct CaseResult {
  Verdict verdict = Verdict::kPassing;
  std::string why;
  bool passes_by_tokens = true;  // by the tokens alone, whether or not the instances may end
};

struct MaskBenchTimes {
  Times first_mask;  // from the parsed schema to the first mask
  Times compile;     // to a matcher at its start
  Times refusal;     // to the error, of schemas that do not compile
  Times masks;       // a mask and the acceptance of one token
};

// In MB.
struct MaskBenchMemory {
  Times compile;    // the most at once while a schema is compiled
  Times grammar;    // what is kept of it then
  Times instances;  // the most at once, with the states and masks of all of its instances
};

class MaskBench {
 public:
  MaskBench(std::shared_ptr<const TokenTables> tables, const MaskBenchOptions& options)
      : tables_(std::move(tables)), options_(options) {
    times_.masks.us.reserve(kMasksMax);  // so that its growth is not counted as a schema's memory
  }

  CaseResult run(const json::object& subject) {
    const int64_t heap_before = heap_bytes();
    reset_heap_peak();
    CaseResult result = run_one(subject, heap_before);
    const double peak = megabytes(heap_peak_bytes() - heap_before);
    memory_.instances.us.push_back(peak);
    if (options_.large_mb > 0 && peak > options_.large_mb) {
      fmt::print("{:9.1f} MB, {:.1f} to compile it, for {}\n", peak, memory_.compile.us.back(),
                 name_);
    }
    return result;
  }

  MaskBenchTimes& times() { return times_; }
  MaskBenchMemory& memory() { return memory_; }

 private:
  // How far an instance went.
  struct Walk {
    size_t count = 0;      // of its tokens, those that were allowed
    bool whole = false;    // all of them were
    bool can_end = false;  // the text may end behind them
  };

  static constexpr size_t kMasksMax = size_t{1} << 23U;

  static double megabytes(int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

  CaseResult run_one(const json::object& subject, int64_t heap_before) {
    name_ = subject.at("name").as_string();
    const double start = now();
    const auto give_up = [&] {
      return us_since(start) > 1e3 * static_cast<double>(options_.deadline_ms);
    };
    grammar::SchemaOptions how;
    how.whitespace =
        options_.spaced ? grammar::Whitespace::kSpaced : grammar::Whitespace::kFlexible;
    how.open = !options_.closed;
    if (options_.any_order) how.property_order = grammar::PropertyOrder::kAny;
    auto made = grammar::schema_grammar(subject.at("schema"), how, give_up);
    if (!made) {
      times_.refusal.us.push_back(us_since(start));
      memory_.compile.us.push_back(megabytes(heap_peak_bytes() - heap_before));
      return {Verdict::kCompileError, made.error().message, false};
    }
    const auto compiled = std::make_shared<CompiledGrammar>(std::move(made).value(), tables_);
    Matcher first(compiled);
    times_.compile.us.push_back(us_since(start));
    memory_.compile.us.push_back(megabytes(heap_peak_bytes() - heap_before));
    memory_.grammar.us.push_back(megabytes(heap_bytes() - heap_before));
    const double mask_start = now();
    first.mask();
    first_mask_us_ = us_since(mask_start);
    times_.first_mask.us.push_back(times_.compile.us.back() + first_mask_us_);
    if (options_.slow_ms > 0 && times_.compile.us.back() > 1e3 * options_.slow_ms) {
      fmt::print("{:9.1f} ms, {:6.1f} MB to compile {}\n", times_.compile.us.back() / 1e3,
                 memory_.compile.us.back(), name_);
    }

    // One instance with a wrong verdict fails the schema; an invalid one that is accepted weighs
    // more than a valid one that is rejected.
    CaseResult result;
    size_t index = 0;
    for (const json::value& test : subject.at("tests").as_array()) {
      const bool valid = test.at("valid").as_bool();
      const size_t test_index = index++;
      const Walk walk = walk_along(first, test);
      if (walk.whole != valid) result.passes_by_tokens = false;
      const bool accepted = walk.whole && walk.can_end;
      if (accepted == valid) continue;
      if (valid && result.verdict == Verdict::kInvalidationError) continue;
      result.verdict = valid ? Verdict::kValidationError : Verdict::kInvalidationError;
      result.why = fmt::format("test {}: {}", test_index,
                               valid ? "rejected " + text_until(test, walk.count) : "accepted");
    }
    return result;
  }

  Walk walk_along(const Matcher& first, const json::value& test) {
    const json::array& tokens = test.at("tokens").as_array();
    Matcher matcher(first);
    Walk walk;
    for (const json::value& token : tokens) {
      const auto id = static_cast<grammar::Token>(token.as_int64());
      const double start = now();
      const auto mask = matcher.mask();
      const bool allowed = mask->allows(id) && matcher.accept(id);
      // The first mask of a schema is remembered by now, but it is the first token that needed it.
      times_.masks.us.push_back(us_since(start) + std::exchange(first_mask_us_, 0));
      if (options_.slow_mask_us > 0 && times_.masks.us.back() > options_.slow_mask_us) {
        fmt::print("{:9.1f} us for a mask of {} tokens in {}: {}\n", times_.masks.us.back(),
                   mask->count(), name_, text_until(test, walk.count));
      }
      if (!allowed) return walk;
      ++walk.count;
    }
    walk.whole = true;
    walk.can_end = matcher.can_end();
    return walk;
  }

  // The end of the text that was allowed, and the token that is not in the mask behind it.
  std::string text_until(const json::value& test, size_t accepted) const {
    constexpr size_t kShown = 120;
    std::string text;
    const json::array& tokens = test.at("tokens").as_array();
    for (size_t i = 0; i < accepted; ++i)
      text += tables_->bytes(static_cast<grammar::Token>(tokens[i].as_int64()));
    const std::string shown = text.substr(text.size() - std::min(text.size(), kShown));
    if (accepted == tokens.size()) return fmt::format("...{} >>>may not end<<<", shown);
    const auto next = static_cast<grammar::Token>(tokens[accepted].as_int64());
    return fmt::format("...{} >>>{}<<<", shown, tables_->bytes(next));
  }

  std::shared_ptr<const TokenTables> tables_;
  const MaskBenchOptions& options_;
  MaskBenchTimes times_;
  MaskBenchMemory memory_;
  std::string name_;          // of the schema
  double first_mask_us_ = 0;  // until the first token of a schema has been charged with it
};

// The names in a file that an earlier run wrote to --failures.
std::set<std::string> names_in(const std::string& path) {
  std::set<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find('\t') + 1;
    names.insert(line.substr(begin, line.find('\t', begin) - begin));
  }
  return names;
}

void print_times(std::string_view name, Times& times) {
  times.sort();
  double sum = 0;
  for (const double us : times.us)
    sum += us;
  const double count = std::max<double>(1, static_cast<double>(times.us.size()));
  fmt::print("| {:<18} | {:>10.1f} |\n", fmt::format("{} avg", name), sum / count);
  for (const double share : {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0}) {
    fmt::print("| {:<18} | {:>10.1f} |\n", fmt::format("{} p{:g}", name, 100 * share),
               times.at(share));
  }
}

void print_memory(std::string_view name, Times& memory) {
  memory.sort();
  for (const double share : {0.5, 0.99, 1.0})
    fmt::print("| {:<18} | {:>10.2f} |\n", fmt::format("{} p{:g} MB", name, 100 * share),
               memory.at(share));
}

int run_maskbench(const MaskBenchOptions& options) {
  const BenchVocabulary vocabulary =
      read_vocabulary(options.folder + "/llama3.tiktoken", size_t{1} << 20U);
  MaskBench bench(TokenTables::make(vocabulary.bytes, vocabulary.end_tokens), options);
  std::ifstream cases(options.folder + "/cases.jsonl");
  if (!cases) throw std::runtime_error(options.folder + "/cases.jsonl cannot be read");
  std::ofstream failures;
  if (!options.failures.empty()) failures.open(options.failures);

  const std::set<std::string> skipped = names_in(options.skip);
  std::map<Verdict, size_t> counts;
  Causes causes;
  size_t schemas = 0;
  size_t passing_by_tokens = 0;
  std::string line;
  for (size_t i = 0; std::getline(cases, line); ++i) {
    if (i % options.every != 0) continue;
    const json::value subject = json::parse(line, {}, {.max_depth = 512});
    const std::string name(subject.at("name").as_string());
    if (name.find(options.only) == std::string::npos || skipped.contains(name)) continue;
    const CaseResult result = bench.run(subject.as_object());
    ++schemas;
    ++counts[result.verdict];
    if (result.passes_by_tokens) ++passing_by_tokens;
    if (result.verdict != Verdict::kPassing)
      causes.add(name_of(result.verdict),
                 result.verdict == Verdict::kCompileError ? result.why : std::string_view());
    if (failures.is_open() && result.verdict != Verdict::kPassing)
      failures << fmt::format("{}\t{}\t{}\n", name_of(result.verdict), name, result.why);
  }

  fmt::print("| {:<18} | {:>10} |\n|:-------------------|-----------:|\n", "metric", "us, count");
  print_times("TBM", bench.times().masks);
  print_times("TTFM", bench.times().first_mask);
  print_times("compile", bench.times().compile);
  print_times("refusal", bench.times().refusal);
  print_memory("compile", bench.memory().compile);
  print_memory("grammar", bench.memory().grammar);
  print_memory("peak", bench.memory().instances);
  fmt::print("| {:<18} | {:>10} |\n", "tokens", bench.times().masks.us.size());
  fmt::print("| {:<18} | {:>10} |\n", "schemas", schemas);
  for (const Verdict verdict : {Verdict::kPassing, Verdict::kCompileError,
                                Verdict::kValidationError, Verdict::kInvalidationError}) {
    fmt::print("| {:<18} | {:>10} |\n", name_of(verdict), counts[verdict]);
  }
  fmt::print("| {:<18} | {:>10} |\n", "passing by tokens", passing_by_tokens);
  if (options.causes) causes.print();
  return counts[Verdict::kInvalidationError] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace windrow::bench

int main(int argc, char** argv) try {
  CLI::App app("MaskBench: schemas found in the wild, with valid and invalid instances.");
  windrow::bench::MaskBenchOptions options;
  app.add_option("folder", options.folder, "what prepare.py wrote")->required();
  app.add_option("--failures", options.failures, "a file for the schemas that do not pass");
  app.add_option("--only", options.only, "schemas whose names have this in them");
  app.add_option("--skip", options.skip, "a file of --failures: its schemas are left out");
  app.add_option("--slow-ms", options.slow_ms, "shows schemas that took longer to compile");
  app.add_option("--slow-mask-us", options.slow_mask_us, "shows masks that took longer");
  app.add_option("--large-mb", options.large_mb, "shows schemas that needed more memory");
  app.add_flag("--causes", options.causes, "a table of why schemas do not pass");
  app.add_option("--every", options.every, "each Nth schema only")->check(CLI::PositiveNumber);
  app.add_option("--deadline-ms", options.deadline_ms, "for compiling a schema");
  app.add_flag("--closed", options.closed, "objects are closed by default, as in production");
  app.add_flag("--any-order", options.any_order, "members of objects come in any order");
  app.add_flag("--spaced", options.spaced,
               "one blank behind commas and colons, and no other whitespace; else up to 8");
  app.add_flag("--cpu-time", windrow::bench::in_cpu_time, "processor time of the thread");
  CLI11_PARSE(app, argc, argv);
  return windrow::bench::run_maskbench(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_maskbench: {}\n", error.what());
  return 2;
}
