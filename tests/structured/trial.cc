#include "structured/trial.h"

#include <set>

#include "grammar/matcher.h"
#include "structured/instance.h"
#include "structured/schema_json.h"
#include "structured/shape_maker.h"
#include "structured/walk.h"

namespace windrow::structured {

using grammar::CompiledGrammar;
using grammar::Matcher;

namespace {

// Texts of the patterns of a schema, as they stand between quotes.
class Hints {
 public:
  explicit Hints(Random& random) : random_(random) {}

  void add(const Shape& shape) {
    if (!seen_.insert(&shape).second) return;
    if (shape.pattern) add(*shape.pattern);
    for (const NamePattern& pattern : shape.patterns) {
      add(pattern.names);
      add(*pattern.shape);
    }
    for (const Member& member : shape.members)
      add(*member.shape);
    for (const ShapePtr& part : shape.parts)
      add(*part);
    for (const ShapePtr& item : shape.first_items)
      add(*item);
    if (shape.items) add(*shape.items);
    if (shape.additional) add(*shape.additional);
  }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  void add(const Pattern& pattern) {
    for (int i = 0; i < 4; ++i) {
      const std::string text = json_text(pattern.sample(random_));
      texts_.push_back(text.substr(1, text.size() - 2));
    }
  }

  Random& random_;
  std::set<const Shape*> seen_;
  std::vector<std::string> texts_;
};

}  // namespace

TrialVocabulary::TrialVocabulary(Vocabulary made)
    : vocabulary(std::move(made)),
      tables(grammar::TokenTables::make(vocabulary.bytes, vocabulary.end_tokens)) {}

Trial run_trial(int level, uint64_t seed, const TrialVocabulary& vocabulary,
                const TrialOptions& options) {
  Trial trial{.schema = make_schema(level, seed)};
  grammar::SchemaOptions how;
  how.whitespace = options.whitespace;
  how.property_order = options.property_order;
  auto made = grammar::schema_grammar(written_schema(trial.schema), how);
  if (!made) {
    trial.refusal = made.error().message;
    return trial;
  }
  const auto compiled =
      std::make_shared<CompiledGrammar>(std::move(made).value(), vocabulary.tables);
  const Matcher start(compiled);
  Random random(seed * 31 + static_cast<uint64_t>(level));
  const auto add = [&](TrialText::Kind kind, std::string text) {
    const bool taken = accepted(start, vocabulary.vocabulary, text, random);
    trial.texts.push_back({.kind = kind, .text = std::move(text), .accepted = taken});
  };
  for (int i = 0; i < options.instances; ++i) {
    Instance instance = make_instance(trial.schema, random);
    if (options.property_order == grammar::PropertyOrder::kAny) shuffle_members(instance, random);
    add(TrialText::Kind::kInstance, compact(instance));
    for (int j = 0; j < options.misses; ++j)
      add(TrialText::Kind::kNearMiss, near_miss(instance, random));
  }
  Hints hints(random);
  hints.add(*trial.schema.root);
  for (const Definition& definition : trial.schema.definitions)
    hints.add(*definition.shape);
  for (int i = 0; i < options.walks; ++i) {
    const size_t tokens = random.below(options.walk_tokens_max + 1);
    Walk walk = random_walk(start, vocabulary.vocabulary, random, tokens, hints.texts());
    TrialText text{.kind = TrialText::Kind::kWalk};
    if (walk.fault.empty()) {
      text.text = std::move(walk.text);
    } else {
      text.fault = std::move(walk.fault);
    }
    trial.texts.push_back(std::move(text));
  }
  return trial;
}

}  // namespace windrow::structured
