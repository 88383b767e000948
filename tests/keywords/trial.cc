#include "keywords/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/matcher.h"
#include "grammar/schema/json_values.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/testing/definition_order.h"
#include "grammar/schema/testing/schema_language.h"
#include "grammar/schema/testing/walk.h"
#include "keywords/schema_maker.h"
#include "keywords/value_maker.h"
#include "keywords/written_order.h"
#include "schema/validator.h"

namespace windrow::keywords {
namespace {

namespace json = boost::json;
using grammar::CompiledGrammar;
using grammar::Matcher;
using schema::Validator;

// A schema with its grammar and its judges.
class Subject {
 public:
  Subject(const json::value& schema, const TrialOptions& options)
      : schema_(schema), standard_(Validator::compile(schema, {})) {
    if (!options.open) closed_ = Validator::compile(schema, {.closed_by_default = true});
    grammar::SchemaOptions how;
    how.open = options.open;
    int questions = 0;
    auto made =
        grammar::schema_grammar(schema, how, [&] { return ++questions > options.questions_max; });
    if (made) {
      compiled_ = std::make_shared<CompiledGrammar>(std::move(made).value(),
                                                    grammar::testing::byte_vocabulary());
    } else {
      refusal_ = made.error().message;
      gave_up_ = made.error().kind == ErrorKind::kUnavailable;
    }
  }

  // Why it cannot be judged; empty: it can be.
  std::string fault() const {
    if (!standard_) return standard_.error().message;
    if (closed_ && !*closed_) return closed_->error().message;
    return "";
  }
  bool has_grammar() const { return compiled_ != nullptr; }
  const std::string& refusal() const { return refusal_; }
  bool gave_up() const { return gave_up_; }
  bool called_empty() const {
    const auto says = [&](const char* words) { return refusal_.find(words) != std::string::npos; };
    return says("no value is valid") || says("a value never ends") || says("no text");
  }

  bool accepts(std::string_view text) const {
    Matcher matcher(compiled_);
    return matcher.accept_bytes(text) && matcher.can_end();
  }
  Matcher matcher() const { return Matcher(compiled_); }

  // The text in an order of members that is accepted, if there is one: of the names that schemas
  // speak of; the others come behind them.
  std::optional<std::string> accepted_order(const json::value& value) const {
    const json::value ordered = grammar::testing::in_definition_order(schema_, value);
    return accepted_text(matcher(), ordered, small_names());
  }
  std::string ordered(const json::value& value) const {
    return grammar::compact_json(grammar::testing::in_definition_order(schema_, value));
  }

  // By the standard.
  bool valid(std::string_view text) const { return !(*standard_).check(text).has_value(); }

  // Why an accepted text should not have been; empty: it is right.
  std::string violation(std::string_view text) const {
    if (const auto found = (*standard_).check(text)) return found->message;
    if (!closed_) return "";
    const auto found = (**closed_).check(text);
    return found ? "with closed objects: " + found->message : "";
  }

 private:
  const json::value& schema_;
  Result<Validator> standard_;
  std::optional<Result<Validator>> closed_;
  std::shared_ptr<CompiledGrammar> compiled_;
  std::string refusal_;
  bool gave_up_ = false;
};

// The reason of a refusal without its place, shortened: many schemas have the same.
std::string reason_of(std::string_view refusal) {
  const size_t at = refusal.find(": ");
  std::string reason(refusal.substr(at == std::string_view::npos ? 0 : at + 2));
  std::ranges::replace_if(reason, [](char c) { return c >= '0' && c <= '9'; }, 'N');
  return reason.substr(0, 70);
}

// A random way through the grammar that often meets what the schema speaks of: it begins like some
// value, and takes names and texts of the small sets where they fit.
grammar::testing::Walk hinted_walk(const Subject& subject, std::string_view like, Random& random) {
  Matcher matcher = subject.matcher();
  std::string text;
  const size_t cut = random.below(like.size() + 1);
  while (text.size() < cut && matcher.accept_bytes(like.substr(text.size(), 1)))
    text += like[text.size()];
  for (uint64_t steps = random.below(24); steps > 0; --steps) {
    if (matcher.must_end()) break;
    std::string next;
    switch (random.below(4)) {
      case 0:
        next = grammar::json_quoted(small_names()[random.below(small_names().size())]) + ":";
        if (random.chance(0.5)) next = "," + next;
        break;
      case 1:
        next = std::string(1, "{}[],"[random.below(5)]);
        break;
      default:
        next = grammar::compact_json(small_scalar(random));
    }
    if (matcher.accept_bytes(next)) text += next;
  }
  const int bytes_free = random.chance(0.3) ? static_cast<int>(random.below(20)) : 0;
  grammar::testing::Walk walk = grammar::testing::random_walk(matcher, random, bytes_free);
  walk.text = text + walk.text;
  return walk;
}

std::optional<Finding> check_value(const Subject& subject, const json::value& schema,
                                   const json::value& value, const TrialOptions& options,
                                   TrialCounts& counts) {
  const std::string text = subject.ordered(value);
  const bool valid = subject.valid(text);
  if (!subject.has_grammar()) {
    if (!valid || !options.open) return std::nullopt;
    return Finding{Finding::Kind::kCalledEmpty, schema, text, subject.refusal()};
  }
  if (!valid) {
    ++counts.invalid;
    const auto order = subject.accepted_order(value);
    if (!order) return std::nullopt;
    return Finding{Finding::Kind::kInvalidAccepted, schema, *order, subject.violation(*order)};
  }
  if (!options.open) return std::nullopt;
  ++counts.valid;
  if (subject.accepts(text)) return std::nullopt;
  if (subject.accepted_order(value)) {
    ++counts.other_order;
    return std::nullopt;
  }
  return Finding{Finding::Kind::kValidRejected, schema, text, ""};
}

// With a small number in place of each that has more digits than the grammar writes.
json::value with_short_numbers(json::value value) {
  constexpr double kLongMin = 1e9;
  if (json::object* object = value.if_object()) {
    for (auto& [name, member] : *object)
      member = with_short_numbers(std::move(member));
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array)
      item = with_short_numbers(std::move(item));
  } else if (value.is_number()) {
    const auto number = value.to_number<double>();
    const bool is_long = std::abs(number) > kLongMin || number * 1000 != std::trunc(number * 1000);
    if (is_long) return 7;
  }
  return value;
}

std::optional<Finding> check_walk(const Subject& subject, const json::value& schema,
                                  std::string_view like, Random& random, TrialCounts& counts,
                                  std::string& text) {
  grammar::testing::Walk walk = hinted_walk(subject, like, random);
  ++counts.walks;
  if (walk.end == grammar::testing::Walk::End::kLong) {
    ++counts.long_walks;
    return std::nullopt;
  }
  text = std::move(walk.text);
  if (walk.end == grammar::testing::Walk::End::kStuck)
    return Finding{Finding::Kind::kStuck, schema, text, ""};
  std::string violation = subject.violation(text);
  if (violation.empty()) return std::nullopt;
  return Finding{Finding::Kind::kInvalidAccepted, schema, text, std::move(violation)};
}

}  // namespace

void TrialCounts::add(const TrialCounts& other) {
  schemas += other.schemas;
  refused += other.refused;
  empty += other.empty;
  walks += other.walks;
  long_walks += other.long_walks;
  valid += other.valid;
  other_order += other.other_order;
  invalid += other.invalid;
  for (const auto& [reason, count] : other.reasons)
    reasons[reason] += count;
}

std::string TrialCounts::text() const {
  std::string text = fmt::format(
      "{} schemas, {} refused, {} without a value; {} walks ({} without an end); {} valid values "
      "({} in another order), {} invalid ones",
      schemas, refused, empty, walks, long_walks, valid, other_order, invalid);
  for (const auto& [reason, count] : reasons)
    text += fmt::format("\n    {} refused: {}", count, reason);
  return text;
}

std::string Finding::message() const {
  constexpr const char* kWords[] = {"accepted, and not valid",
                                    "valid, and not accepted",
                                    "nothing may follow, and it is not whole",
                                    "valid, and the schema is said to have no value",
                                    "the validator does not take the schema",
                                    "refused without a place"};
  return fmt::format("{}\n  schema: {}\n  text: {}\n  {}", kWords[static_cast<size_t>(kind)],
                     json::serialize(schema), text, detail);
}

std::optional<Finding> run_trial(const json::value& schema, uint64_t seed,
                                 const TrialOptions& options, TrialCounts& counts) {
  ++counts.schemas;
  const Subject subject(schema, options);
  if (const std::string fault = subject.fault(); !fault.empty())
    return Finding{Finding::Kind::kNotJudged, schema, "", fault};
  if (!subject.has_grammar()) {
    if (!subject.gave_up() && subject.refusal().find('#') == std::string::npos)
      return Finding{Finding::Kind::kErrorNoPlace, schema, "", subject.refusal()};
    if (subject.called_empty()) {
      ++counts.empty;
    } else {
      ++counts.refused;
      ++counts.reasons[reason_of(subject.refusal())];
      return std::nullopt;
    }
  }
  Random random(seed);
  std::string like;
  for (int i = 0; i < options.values; ++i) {
    json::value value = value_near(schema, schema, random);
    if (i % 2 == 1) value = changed(std::move(value), random);
    if (auto finding = check_value(subject, schema, value, options, counts)) return finding;
    if (like.empty() || random.chance(0.3)) like = subject.ordered(value);
  }
  for (int i = 0; subject.has_grammar() && i < options.walks; ++i) {
    std::string text;
    if (auto finding = check_walk(subject, schema, like, random, counts, text)) return finding;
    boost::system::error_code no_json;
    const json::value value = json::parse(text, no_json, {}, {.max_depth = 10'000});
    if (no_json) continue;
    const json::value other = with_short_numbers(changed(value, random));
    if (auto finding = check_value(subject, schema, other, options, counts)) return finding;
  }
  return std::nullopt;
}

// --- shrinking -----------------------------------------------------------------------------------

namespace {

bool holds_still(const Finding& finding, const TrialOptions& options) {
  const Subject subject(finding.schema, options);
  if (!subject.fault().empty()) return finding.kind == Finding::Kind::kNotJudged;
  const auto value = [&] { return json::parse(finding.text); };
  switch (finding.kind) {
    case Finding::Kind::kInvalidAccepted:
      return subject.has_grammar() && subject.accepts(finding.text) &&
             !subject.violation(finding.text).empty();
    case Finding::Kind::kValidRejected:
      return subject.has_grammar() && subject.valid(finding.text) &&
             !subject.accepted_order(value());
    case Finding::Kind::kStuck: {
      if (!subject.has_grammar()) return false;
      Matcher matcher = subject.matcher();
      if (!matcher.accept_bytes(finding.text) || matcher.can_end()) return false;
      const auto mask = matcher.mask();
      for (int byte = 0; byte < 256; ++byte) {
        if (mask->allows(byte)) return false;
      }
      return true;
    }
    case Finding::Kind::kCalledEmpty:
      return subject.called_empty() && subject.valid(finding.text);
    case Finding::Kind::kErrorNoPlace:
      return !subject.has_grammar() && !subject.gave_up() &&
             subject.refusal().find('#') == std::string::npos;
    case Finding::Kind::kNotJudged:
      break;
  }
  return false;
}

// Every value that is `value` with one part left out, or one place of it set to true.
void simpler(const json::value& value, bool is_schema, std::vector<json::value>& all) {
  const auto inner = [&](auto&& part, const auto& put) {
    std::vector<json::value> parts;
    simpler(part, is_schema, parts);
    for (json::value& one : parts)
      all.push_back(put(std::move(one)));
  };
  if (const json::object* object = value.if_object()) {
    if (is_schema && !object->empty()) all.emplace_back(true);
    for (const auto& member : *object) {
      json::object less = *object;
      less.stable_erase(member.key());
      all.emplace_back(std::move(less));
      if (is_schema && member.value().is_object()) all.push_back(member.value());
      inner(member.value(), [&](json::value one) {
        json::object same = *object;
        same[member.key()] = std::move(one);
        return json::value(std::move(same));
      });
    }
  } else if (const json::array* array = value.if_array()) {
    for (size_t i = 0; i < array->size(); ++i) {
      json::array less = *array;
      less.erase(less.begin() + static_cast<ptrdiff_t>(i));
      all.emplace_back(std::move(less));
      inner((*array)[i], [&](json::value one) {
        json::array same = *array;
        same[i] = std::move(one);
        return json::value(std::move(same));
      });
    }
  }
}

}  // namespace

Finding shrunk(const Finding& finding, const TrialOptions& options) {
  constexpr int kTriesMax = 3'000;
  Finding least = finding;
  int tries = 0;
  const auto take = [&](Finding one) {
    if (tries++ > kTriesMax || !holds_still(one, options)) return false;
    least = std::move(one);
    return true;
  };
  for (bool smaller = true; smaller && tries < kTriesMax;) {
    smaller = false;
    std::vector<json::value> schemas;
    simpler(least.schema, true, schemas);
    for (json::value& schema : schemas) {
      if (!schema.is_object()) continue;
      Finding one = least;
      one.schema = std::move(schema);
      smaller = take(std::move(one));
      if (smaller) break;
    }
    boost::system::error_code no_json;
    const json::value value = json::parse(least.text, no_json);
    if (smaller || no_json) continue;
    std::vector<json::value> values;
    simpler(value, false, values);
    for (const json::value& other : values) {
      Finding one = least;
      one.text = grammar::compact_json(other);
      smaller = take(std::move(one));
      if (smaller) break;
    }
  }
  if (const Subject subject(least.schema, options);
      subject.fault().empty() && least.kind == Finding::Kind::kInvalidAccepted) {
    least.detail = subject.violation(least.text);
  }
  return least;
}

}  // namespace windrow::keywords
