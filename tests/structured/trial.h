// Trial: one generated schema, compiled and walked; the texts that were accepted and the texts that
// came out. Tests and validators judge it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/schema/schema_grammar.h"
#include "grammar/token_tables.h"
#include "structured/shape.h"
#include "structured/vocabulary.h"

namespace windrow::structured {

struct TrialOptions {
  int instances = 6;  // and as many near misses of each
  int misses = 2;     // of each instance
  int walks = 3;
  uint64_t walk_tokens_max = 200;  // that are drawn freely
  grammar::Whitespace whitespace = grammar::Whitespace::kCompact;
  grammar::PropertyOrder property_order = grammar::PropertyOrder::kDefinition;
};

struct TrialText {
  enum class Kind : uint8_t { kInstance, kNearMiss, kWalk };

  Kind kind = Kind::kInstance;
  std::string text;
  bool accepted = true;              // by the grammar
  std::optional<std::string> fault;  // of a walk
};

struct Trial {
  SchemaCase schema;
  std::string refusal;  // why it has no grammar; empty: it has one
  std::vector<TrialText> texts;
};

// A vocabulary and what grammars need of it, made once.
struct TrialVocabulary {
  explicit TrialVocabulary(Vocabulary made);

  Vocabulary vocabulary;
  std::shared_ptr<const grammar::TokenTables> tables;
};

Trial run_trial(int level, uint64_t seed, const TrialVocabulary& vocabulary,
                const TrialOptions& options);

}  // namespace windrow::structured
