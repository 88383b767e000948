#include "grammar/schema/tagged_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/regex.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/grammar_writer.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

// Texts that are read as JSON values other than strings, and all that begin like an object or a
// list.
constexpr std::string_view kReadAsJson =
    R"([ \t\r\n]*([\[{][\s\S]*|(true|false|null|True|False|None|)"
    R"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)[ \t\r\n]*))";

// Undeclared names.
constexpr std::string_view kPlainName = R"([^ \t\r\n<>"]{1,64})";

std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{}/)").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

bool is_writable(std::string_view name) {
  constexpr size_t kBytesMax = 200;
  return !name.empty() && name.size() <= kBytesMax && name.front() != ' ' && name.back() != ' ' &&
         name.find_first_of("<>\"\t\r\n") == std::string_view::npos;
}

class TagWriter {
 public:
  TagWriter(GrammarBuilder& builder, Conjunctions& conjunctions, GrammarWriter& writer,
            const TagForm& form, PropertyOrder order)
      : builder_(builder),
        conjunctions_(conjunctions),
        writer_(writer),
        form_(form),
        order_(order) {}

  Result<Part> write(NodeId id) {
    const Node& node = conjunctions_[id];
    if (node.kind == Node::Kind::kShape) return write_shape(node);
    std::vector<Part> choices;
    for (const NodeId choice : node.choices) {
      Result<Part> part = write(choice);
      if (!part) return part;
      choices.push_back(*part);
    }
    return builder_.choice(std::move(choices));
  }

 private:
  Result<Part> write_shape(const Node& node) {
    if (node.allowed) {
      return schema_error(node.pointer,
                          "this model writes arguments between tags, where an enum or const of "
                          "whole objects cannot be enforced; give each member its own");
    }
    if (node.objects.counts_names()) {
      return schema_error(node.pointer,
                          "this model writes arguments between tags, where minProperties, "
                          "maxProperties and negated rules for members cannot be enforced; leave "
                          "them out");
    }
    std::vector<Part> parts;
    GrammarBuilder::Members members;  // instead of `parts`, in any order
    for (const Member& member : node.objects.members) {
      if (!is_writable(member.name)) {
        return schema_error(node.pointer,
                            fmt::format("\"{}\" cannot be written as the name of a member between "
                                        "tags, as this model writes arguments",
                                        member.name));
      }
      Result<NodeId> id = conjunctions_.find_member(node, member.name);
      if (!id) return id.error();
      if (!conjunctions_.possible(*id)) continue;  // it is not required: then there were no object
      Result<std::optional<Part>> value = write_value(*id, form_.kind_of(member.name));
      if (!value) return value.error();
      if (!*value && member.required) {
        return schema_error(conjunctions_[*id].pointer,
                            "no value of it can be written between tags");
      }
      if (!*value) continue;
      const std::string name = form_.key_open + member.name + form_.key_close;
      if (order_ == PropertyOrder::kAny) {
        members.named.push_back({.name = name,
                                 .value = builder_.sequence({**value, close()}),
                                 .required = member.required});
        continue;
      }
      const Part part = builder_.sequence({builder_.text(name), **value, close()});
      parts.push_back(member.required ? part : builder_.repeat(part, 0, 1));
    }
    Result<std::optional<Part>> undeclared = write_undeclared(node);
    if (!undeclared) return undeclared.error();
    if (order_ == PropertyOrder::kAny) {
      members.other = *undeclared;
      return builder_.members(std::move(members));
    }
    if (*undeclared) parts.push_back(builder_.repeat(**undeclared, 0, std::nullopt));
    return parts.empty() ? builder_.nothing() : builder_.sequence(std::move(parts));
  }

  Result<std::optional<Part>> write_undeclared(const Node& node) {
    Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node);
    if (!classes) return classes.error();
    Result<CharDfa> plain = regex_dfa(kPlainName, RegexMeaning::kWhole);
    if (!plain) return plain.error();
    std::vector<Part> choices;
    for (const NameClass& one : *classes) {
      Result<CharDfa> names = one.names ? plain->intersect(*one.names) : *plain;
      if (!names) return schema_error(node.pointer, names.error());
      Result<std::optional<Part>> value = write_value(one.value, TaggedKind::kEither);
      if (!value) return value.error();
      if (names->empty() || !*value) continue;
      choices.push_back(
          builder_.sequence({builder_.text(form_.key_open), builder_.lexeme(utf8_dfa(*names)),
                             builder_.text(form_.key_close), **value, close()}));
    }
    if (choices.empty()) return std::optional<Part>();
    return std::optional(builder_.choice(std::move(choices)));
  }

  // Nothing where no value can be written.
  Result<std::optional<Part>> write_value(NodeId id, TaggedKind kind) {
    std::vector<Part> choices;
    if (kind != TaggedKind::kText) {
      Result<std::optional<Part>> others = writer_.write_others(id);
      if (!others) return others;
      if (*others) choices.push_back(**others);
    }
    if (kind != TaggedKind::kJson) {
      if (Result<void> added = add_texts(id, kind == TaggedKind::kEither, choices); !added)
        return schema_error(conjunctions_[id].pointer, added.error());
    }
    if (choices.empty()) return std::optional<Part>();
    return std::optional(builder_.choice(std::move(choices)));
  }

  // Its values that are strings, as they are written between tags. `either`: a text that would be
  // read as another JSON value is none of them.
  Result<void> add_texts(NodeId id, bool either, std::vector<Part>& parts) {
    std::vector<CountedTexts> all(1);
    if (Result<void> found = find_texts(id, all); !found) return found;
    for (auto& [texts, count] : all) {
      for (const std::string_view pattern :
           {std::string_view(end_pattern_), either ? kReadAsJson : std::string_view()}) {
        if (pattern.empty() || texts.empty()) continue;
        Result<CharDfa> without = regex_dfa(
            pattern, pattern == kReadAsJson ? RegexMeaning::kWhole : RegexMeaning::kSearch);
        if (without) without = texts.without(*without);
        if (!without) return without.error();
        texts = *std::move(without);
      }
      if (texts.empty()) continue;
      if (count.allows_all()) {
        parts.push_back(builder_.lexeme(utf8_dfa(texts)));
        continue;
      }
      auto counted = CountedDfa::make(utf8_dfa(texts), texts.states_count(), count);
      if (!counted) return counted.error();
      if (!(*counted)->empty()) parts.push_back(builder_.lexeme(*std::move(counted)));
    }
    return {};
  }

  // Its values that are strings: those that are not counted at the front of `all`, each of the
  // others behind it.
  Result<void> find_texts(NodeId id, std::vector<CountedTexts>& all) {
    const auto add = [&all](const CharDfa& texts) -> Result<void> {
      Result<CharDfa> both = all.front().dfa.unite(texts);
      if (!both) return both.error();
      all.front().dfa = *std::move(both);
      return {};
    };
    const Node& node = conjunctions_[id];
    if (node.kind == Node::Kind::kChoice) {
      for (const NodeId choice : node.choices) {
        if (Result<void> found = find_texts(choice, all); !found) return found;
      }
      return {};
    }
    if (node.allowed) {
      std::vector<std::string_view> texts;
      for (const json::value* value : *node.allowed) {
        if (value->is_string()) texts.push_back(value->get_string());
      }
      if (texts.empty()) return {};
      const Result<CharDfa> made =
          CharDfa::literals(texts, CharDfa::kStatesMax, conjunctions_.give_up());
      return made ? add(*made) : made.error();
    }
    if (node.kind == Node::Kind::kNone || (node.types & kStringType) == 0) return {};
    Result<const CountedTexts*> texts = conjunctions_.automata().texts(node.strings);
    if (!texts) return texts.error();
    if ((*texts)->count.allows_all()) return add((*texts)->dfa);
    all.push_back(**texts);
    return {};
  }

  Part close() { return builder_.text(form_.value_close); }

  GrammarBuilder& builder_;
  Conjunctions& conjunctions_;
  GrammarWriter& writer_;
  const TagForm& form_;
  PropertyOrder order_;
  const std::string end_pattern_ = escaped(form_.end_mark);
};

}  // namespace

Result<Part> tagged_object_part(GrammarBuilder& builder, const json::value& schema,
                                const TagForm& form, const SchemaOptions& options,
                                const GiveUp& give_up) {
  SchemaOptions for_objects = options;
  for_objects.only_objects = true;
  Result<Schema> read = read_schema(schema, for_objects, give_up);
  if (!read) return read.error();
  Conjunctions conjunctions(*read, give_up);
  Result<NodeId> root = possible_root(conjunctions, *read);
  if (!root) return root.error();
  JsonParts parts(builder, options.whitespace);
  // An end mark inside a string of the value would end the value as well.
  Result<CharDfa> ending = regex_dfa(escaped(form.end_mark), RegexMeaning::kSearch);
  if (!ending) return ending.error();
  parts.leave_out(*std::move(ending));
  GrammarWriter writer(conjunctions, parts, options.property_order);
  Result<Part> part =
      TagWriter(builder, conjunctions, writer, form, options.property_order).write(*root);
  if (!part) return part;
  if (Result<bool> ended = check_ends(conjunctions, *root); !ended) return ended.error();
  return part;
}

}  // namespace windrow::grammar
