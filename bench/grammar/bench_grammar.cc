// bench_grammar: what structured answers cost a step: tables of a vocabulary, compiling schemas
// never seen, masks along answers, 32 rows at once, and how much of an answer is forced. Times are
// of one thread. Ends with the targets; the exit status is 1 when one was missed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grammar/matcher.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/subjects.h"
#include "grammar/times.h"
#include "grammar/token_tables.h"
#include "grammar/vocabulary_source.h"

namespace windrow::bench {
namespace {

namespace json = boost::json;
using grammar::CompiledGrammar;
using grammar::Matcher;
using grammar::TokenTables;

struct Options {
  std::string vocabulary;
  size_t tokens = 150'000;
  std::string folder;
  uint64_t seed = 1;
  int of_each_level = 38;
  int level = 0;
  std::string only;  // a part of a subject's name
  int answers = 3;
  int rows = 32;
  int64_t deadline_ms = 2'000;
  double slow_us = 0;  // masks that took longer are shown
  bool cpu_time = false;
  bool flexible = false;
  bool as_json = false;
};

// --- one subject
// ----------------------------------------------------------------------------------

struct Measured {
  const Subject* subject = nullptr;
  double compile_us = 0;
  bool late = false;  // beyond the deadline, without an error
  std::string refusal;
  std::shared_ptr<CompiledGrammar> compiled;
  size_t bytes = 0;
  double mask_max_us = 0;
};

struct All {
  Times compile;
  Times masks;        // the first walk along an answer
  Times masks_again;  // the same walk again
  Times accepts;
  Times memory;  // bytes, not us
};

std::shared_ptr<const grammar::Grammar> grammar_of(const Subject& subject, const Options& options,
                                                   bool flexible, Measured& measured) {
  const double start = now();
  grammar::SchemaOptions how;
  how.whitespace = flexible ? grammar::Whitespace::kFlexible : grammar::Whitespace::kCompact;
  const auto give_up = [&] {
    return us_since(start) > 1e3 * static_cast<double>(options.deadline_ms);
  };
  auto made = grammar::schema_grammar(subject.schema, how, give_up);
  if (!made) {
    measured.refusal = made.error().message;
    return nullptr;
  }
  return std::move(made).value();
}

Measured compile(const Subject& subject, const std::shared_ptr<const TokenTables>& tables,
                 const Options& options, bool flexible) {
  Measured measured{.subject = &subject};
  const double start = now();
  const auto grammar = grammar_of(subject, options, flexible, measured);
  if (grammar) {
    measured.compiled = std::make_shared<CompiledGrammar>(grammar, tables);
    const Matcher first(measured.compiled);
  }
  measured.compile_us = us_since(start);
  measured.late = grammar && measured.compile_us > 1e3 * static_cast<double>(options.deadline_ms);
  return measured;
}

// Along one answer: before each token its mask. Throws where the answer is not accepted.
void walk(const Measured& measured, const std::vector<int32_t>& tokens, const Options& options,
          Times& masks, Times& accepts, double& worst_us) {
  std::string text;
  Matcher matcher(measured.compiled);
  for (const int32_t token : tokens) {
    const double start = now();
    const auto mask = matcher.mask();
    const double us = us_since(start);
    masks.us.push_back(us);
    worst_us = std::max(worst_us, us);
    if (options.slow_us > 0) {
      if (us > options.slow_us) {
        fmt::print("{:9.1f} us  {}: ...{}\n", us, measured.subject->name,
                   text.substr(text.size() - std::min<size_t>(text.size(), 80)));
      }
      text += measured.compiled->tables().bytes(token);
    }
    const double middle = now();
    const bool accepted = matcher.accept(token);
    accepts.us.push_back(us_since(middle));
    if (!accepted || !mask->allows(token)) {
      throw std::runtime_error(
          fmt::format("{}: an answer is not accepted", measured.subject->name));
    }
  }
  if (!matcher.can_end()) {
    throw std::runtime_error(
        fmt::format("{}: an answer is not at its end", measured.subject->name));
  }
}

// Tokens that need no sampling: they lie within what is forced, and no longer token may stand in
// their place.
struct Forced {
  size_t tokens = 0;
  size_t forced = 0;

  double share() const {
    return tokens == 0 ? 0 : static_cast<double>(forced) / static_cast<double>(tokens);
  }
};

void count_forced(const Measured& measured, const BenchVocabulary& vocabulary,
                  const std::vector<int32_t>& tokens, Forced& count) {
  constexpr size_t kBytesMax = 256;
  Matcher matcher(measured.compiled);
  const auto longer_may_come = [&](const std::string& bytes) {
    const auto mask = matcher.mask();
    for (int32_t token = 0; token < mask->size(); ++token) {
      const std::string& other = vocabulary.bytes[static_cast<size_t>(token)];
      if (mask->allows(token) && other.size() > bytes.size() && other.starts_with(bytes)) {
        return true;
      }
    }
    return false;
  };
  for (const int32_t token : tokens) {
    const std::string& bytes = vocabulary.bytes[static_cast<size_t>(token)];
    const std::string forced = matcher.forced_bytes(kBytesMax);
    const bool within =
        forced.size() > bytes.size() || (forced.size() == bytes.size() && !longer_may_come(bytes));
    ++count.tokens;
    count.forced += within ? 1 : 0;
    if (!matcher.accept(token)) return;
  }
}

// As strict clients send a schema: all members of an object are required.
void require_all(json::value& schema) {
  if (auto* list = schema.if_array()) {
    for (json::value& one : *list)
      require_all(one);
  }
  auto* object = schema.if_object();
  if (object == nullptr) return;
  if (const json::value* properties = object->if_contains("properties")) {
    json::array names;
    for (const auto& member : properties->as_object())
      names.emplace_back(member.key());
    (*object)["required"] = std::move(names);
  }
  for (auto& member : *object)
    require_all(member.value());
}

// The share of forced tokens in answers that have all members.
Forced forced_share(const std::vector<Subject>& subjects, bool strict, bool flexible,
                    const std::shared_ptr<const TokenTables>& tables,
                    const BenchVocabulary& vocabulary, const Tokenizer& tokenizer,
                    const Options& options) {
  Forced count;
  for (Subject subject : subjects) {
    if (subject.group != "graphiti") continue;
    if (strict) require_all(subject.schema);
    const Measured measured = compile(subject, tables, options, flexible);
    if (!measured.compiled) continue;
    for (const std::string& answer : subject.answers) {
      Matcher whole(measured.compiled);
      if (!whole.accept_bytes(answer)) continue;
      count_forced(measured, vocabulary, tokenizer.tokens(answer), count);
    }
  }
  return count;
}

// All rows step by step, each along an answer of its own, as one batch does it.
Times fill_rows(const std::vector<Measured>& subjects, const Tokenizer& tokenizer,
                const Options& options) {
  struct Row {
    Matcher matcher;
    std::vector<int32_t> tokens;
    size_t at = 0;
  };
  std::vector<Row> rows;
  size_t next = 0;
  const auto new_row = [&] {
    const Measured& measured = subjects[next % subjects.size()];
    const auto& answers = measured.subject->answers;
    const std::string& answer = answers[(next / subjects.size()) % answers.size()];
    ++next;
    return Row{Matcher(measured.compiled), tokenizer.tokens(answer)};
  };
  Times times;
  if (subjects.empty()) return times;
  rows.reserve(static_cast<size_t>(options.rows));
  for (int i = 0; i < options.rows; ++i)
    rows.push_back(new_row());
  for (int step = 0; step < 400; ++step) {
    const double start = now();
    for (Row& row : rows)
      row.matcher.mask();
    times.us.push_back(us_since(start));
    for (Row& row : rows) {
      if (row.at == row.tokens.size()) {
        row = new_row();
      } else {
        row.matcher.accept(row.tokens[row.at++]);
      }
    }
  }
  times.sort();
  return times;
}

// --- the report
// -----------------------------------------------------------------------------------

class Report {
 public:
  explicit Report(bool quiet) : quiet_(quiet) {}

  template <typename... Values>
  void line(fmt::format_string<Values...> text, Values&&... values) const {
    if (!quiet_) fmt::print("{}\n", fmt::format(text, std::forward<Values>(values)...));
  }

  void target(const std::string& name, double value, double most) {
    targets_[name] = json::object{{"value", value}, {"most", most}, {"met", value <= most}};
    line("{:<52} {:>10.3f}   at most {:g}: {}", name, value, most,
         value <= most ? "met" : "MISSED");
    missed_ = missed_ || value > most;
  }

  bool missed() const { return missed_; }
  const json::object& targets() const { return targets_; }

 private:
  bool quiet_;
  bool missed_ = false;
  json::object targets_;
};

struct Group {
  All all;
  size_t refused = 0;
};

int run(const Options& options) {
  Report report(options.as_json);
  const BenchVocabulary vocabulary = options.vocabulary.empty()
                                         ? made_up_vocabulary(1, options.tokens)
                                         : read_vocabulary(options.vocabulary, options.tokens);
  json::object figures{{"vocabulary", vocabulary.source}, {"tokens", vocabulary.bytes.size()}};

  Times made;
  std::shared_ptr<const TokenTables> tables;
  for (int i = 0; i < 3; ++i) {
    const double start = now();
    tables = TokenTables::make(vocabulary.bytes, vocabulary.end_tokens);
    made.us.push_back(us_since(start));
  }
  const double tables_ms = made.us.front() / 1e3;  // as a new process has it
  made.sort();
  const double tables_mb = static_cast<double>(tables->memory_bytes()) / 1e6;
  report.line("vocabulary: {}, {} tokens; tables: {:.0f} ms at first, {:.0f} ms again, {:.1f} MB",
              vocabulary.source, vocabulary.bytes.size(), tables_ms, made.p50() / 1e3, tables_mb);

  std::vector<Subject> subjects = published_subjects(options.folder);
  for (Subject& subject :
       generated_subjects(options.seed, options.of_each_level, options.level, options.answers)) {
    subjects.push_back(std::move(subject));
  }
  if (!options.only.empty()) {
    std::erase_if(subjects, [&](const Subject& subject) {
      return subject.name.find(options.only) == std::string::npos;
    });
  }
  const Tokenizer tokenizer(vocabulary);

  std::map<std::string, Group> groups;
  Group whole;
  std::vector<Measured> all;
  size_t late = 0;
  for (const Subject& subject : subjects) {
    Measured measured = compile(subject, tables, options, options.flexible);
    Group& group = groups[subject.group];
    group.all.compile.us.push_back(measured.compile_us);
    whole.all.compile.us.push_back(measured.compile_us);
    late += measured.late ? 1 : 0;
    if (!measured.compiled) {
      ++group.refused;
      ++whole.refused;
      report.line("refused: {} in {:.1f} ms: {}", subject.name, measured.compile_us / 1e3,
                  measured.refusal.substr(0, 160));
      all.push_back(std::move(measured));
      continue;
    }
    for (const std::string& answer : subject.answers) {
      const std::vector<int32_t> tokens = tokenizer.tokens(answer);
      Times masks;
      Times again;
      double unused = 0;
      walk(measured, tokens, options, masks, group.all.accepts, measured.mask_max_us);
      Times accepts;
      walk(measured, tokens, options, again, accepts, unused);
      for (All* to : {&group.all, &whole.all}) {
        to->masks.us.insert(to->masks.us.end(), masks.us.begin(), masks.us.end());
        to->masks_again.us.insert(to->masks_again.us.end(), again.us.begin(), again.us.end());
      }
      whole.all.accepts.us.insert(whole.all.accepts.us.end(), accepts.us.begin(), accepts.us.end());
    }
    measured.bytes = measured.compiled->memory_bytes();
    group.all.memory.us.push_back(static_cast<double>(measured.bytes));
    whole.all.memory.us.push_back(static_cast<double>(measured.bytes));
    all.push_back(std::move(measured));
  }

  report.line("\n{:<10} {:>5} {:>7}  {:>28}  {:>30}  {:>17}", "", "", "", "compile ms",
              "mask us (first walk)", "KB a grammar");
  report.line("{:<10} {:>5} {:>7}  {:>8} {:>9} {:>9}  {:>9} {:>9} {:>10}  {:>8} {:>8}", "group",
              "all", "refused", "p50", "p99", "max", "p50", "p99", "max", "p50", "max");
  json::object by_group;
  groups["all"] = whole;
  for (auto& [name, group] : groups) {
    All& a = group.all;
    for (Times* times : {&a.compile, &a.masks, &a.masks_again, &a.accepts, &a.memory})
      times->sort();
    report.line(
        "{:<10} {:>5} {:>7}  {:>8.2f} {:>9.2f} {:>9.2f}  {:>9.2f} {:>9.1f} {:>10.1f}  {:>8.0f} "
        "{:>8.0f}",
        name, a.compile.us.size(), group.refused, a.compile.p50() / 1e3, a.compile.p99() / 1e3,
        a.compile.max() / 1e3, a.masks.p50(), a.masks.p99(), a.masks.max(), a.memory.p50() / 1e3,
        a.memory.max() / 1e3);
    by_group[name] = json::object{{"refused", group.refused},
                                  {"compile", a.compile.figures()},
                                  {"mask_first_walk", a.masks.figures()},
                                  {"mask_second_walk", a.masks_again.figures()},
                                  {"accept", a.accepts.figures()},
                                  {"bytes_p50", a.memory.p50()},
                                  {"bytes_max", a.memory.max()}};
  }
  figures["groups"] = std::move(by_group);
  const All& total = groups["all"].all;
  report.line(
      "\nmask, second walk: p50 {:.2f} us, p99 {:.2f} us, max {:.1f} us; accept: p50 {:.2f} us, "
      "p99 {:.2f} us",
      total.masks_again.p50(), total.masks_again.p99(), total.masks_again.max(),
      total.accepts.p50(), total.accepts.p99());

  const auto worst = [&](const char* what, auto value) {
    std::vector<const Measured*> order;
    order.reserve(all.size());
    for (const Measured& measured : all)
      order.push_back(&measured);
    const size_t count = std::min<size_t>(order.size(), 8);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(),
                      [&](const Measured* a, const Measured* b) { return value(*a) > value(*b); });
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text +=
          fmt::format("{}{} {:.1f}", i > 0 ? "; " : "", order[i]->subject->name, value(*order[i]));
    report.line("slowest {}: {}", what, text);
  };
  worst("to compile, ms", [](const Measured& one) { return one.compile_us / 1e3; });
  worst("masks, us", [](const Measured& one) { return one.mask_max_us; });

  // Rows of the published schemas, whose masks were found above, and of all schemas as they come.
  std::vector<Measured> published;
  std::vector<Measured> mixed;
  for (const Measured& measured : all) {
    if (!measured.compiled) continue;
    if (measured.subject->group == "graphiti") published.push_back(measured);
    mixed.push_back(compile(*measured.subject, tables, options, options.flexible));
  }
  const Times rows = fill_rows(published, tokenizer, options);
  const Times rows_mixed = fill_rows(mixed, tokenizer, options);
  report.line(
      "{} rows a step: p50 {:.1f} us, p99 {:.1f} us, max {:.1f} us with the published schemas; "
      "p50 {:.1f} us, p99 {:.1f} us, max {:.1f} us with all, compiled anew",
      options.rows, rows.p50(), rows.p99(), rows.max(), rows_mixed.p50(), rows_mixed.p99(),
      rows_mixed.max());
  figures["rows"] = rows.figures();
  figures["rows_all_schemas"] = rows_mixed.figures();

  const auto share = [&](bool strict, bool flexible) {
    return forced_share(subjects, strict, flexible, tables, vocabulary, tokenizer, options);
  };
  const Forced forced = share(false, false);
  const Forced strict = share(true, false);
  const Forced flexible = share(true, true);
  report.line(
      "forced tokens of the published schemas' answers: {:.1f} % of {} as published, {:.1f} % with "
      "all members required, {:.1f} % with free whitespace besides (the field: 44 and 19 %)\n",
      100 * forced.share(), forced.tokens, 100 * strict.share(), 100 * flexible.share());
  figures["forced_share"] = forced.share();
  figures["forced_share_strict"] = strict.share();
  figures["forced_share_strict_flexible"] = flexible.share();
  figures["tables_mb"] = tables_mb;

  report.target("tables of the vocabulary, ms", tables_ms, 300);
  report.target("compile p50, ms", total.compile.p50() / 1e3, 5);
  report.target("compile p99, ms", total.compile.p99() / 1e3, 100);
  report.target("schemas beyond the deadline without an error", static_cast<double>(late), 0);
  report.target("mask p50, us", total.masks.p50(), 5);
  report.target("mask p99, us", total.masks.p99(), 50);
  report.target("mask max, us", total.masks.max(), 2000);
  report.target(fmt::format("{} rows p50, us", options.rows), rows.p50(), 300);
  figures["targets"] = report.targets();
  if (options.as_json) fmt::print("{}\n", json::serialize(figures));
  return report.missed() ? 1 : 0;
}

}  // namespace
}  // namespace windrow::bench

int main(int argc, char** argv) try {
  CLI::App app("Grammars of JSON schemas: compiling, masks, forced tokens.");
  windrow::bench::Options options;
  options.folder = WINDROW_BENCH_GRAMMAR_FOLDER;
  app.add_option(
      "--vocabulary", options.vocabulary,
      "a file with a token a line (bench/grammar/setup prints one); else one is made up");
  app.add_option("--tokens", options.tokens, "so many of it, and control tokens");
  app.add_option("--folder", options.folder, "with schemas/ and answers/");
  app.add_option("--seed", options.seed, "of the generated schemas");
  app.add_option("--schemas", options.of_each_level, "generated, of each of the 8 levels");
  app.add_option("--level", options.level, "only this one");
  app.add_option("--only", options.only, "schemas whose names have this in them");
  app.add_option("--answers", options.answers, "of each generated schema");
  app.add_option("--rows", options.rows, "of the batch");
  app.add_option("--deadline-ms", options.deadline_ms, "for compiling a schema");
  app.add_option("--slow", options.slow_us, "shows masks that took more us, and behind what");
  app.add_flag("--cpu-time", options.cpu_time, "not the time of day: where others run beside this");
  app.add_flag("--flexible", options.flexible, "whitespace");
  app.add_flag("--json", options.as_json, "one object, not a table");
  CLI11_PARSE(app, argc, argv);
  windrow::bench::in_cpu_time = options.cpu_time;
  return windrow::bench::run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_grammar: {}\n", error.what());
  return 2;
}
