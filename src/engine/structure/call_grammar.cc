#include "engine/structure/call_grammar.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chat/harmony.h"
#include "chat/marks.h"
#include "chat/tool_table.h"
#include "grammar/schema/tagged_object.h"

namespace windrow::engine {

namespace json = boost::json;

namespace {

using chat::ToolSyntax;
using Form = ToolSyntax::Form;
using grammar::GrammarBuilder;
using grammar::Part;

constexpr std::string_view kTurn = "<|start|>assistant";

bool has_channels(const ToolSyntax& syntax) {
  return syntax.mark == chat::harmony::kCallOpen;
}

class CallWriter {
 public:
  CallWriter(GrammarBuilder& builder, const CallFormat& format, const grammar::GiveUp& give_up,
             const SchemaWords& words)
      : builder_(builder),
        format_(format),
        syntax_(format.syntax),
        give_up_(give_up),
        words_(words) {}

  Part text(std::string_view text) { return builder_.text(format_.escapes.escape(text)); }

  // NAME middle ARGUMENTS of one of the tools.
  Result<Part> calls(std::span<const CallableTool> tools) {
    std::vector<Part> choices;
    for (const CallableTool& tool : tools) {
      Result<Part> arguments = this->arguments(tool);
      if (!arguments) return arguments;
      choices.push_back(builder_.sequence({text(name(tool) + syntax_.middle), *arguments}));
    }
    return one_of(std::move(choices));
  }

  // A message, from its role on.
  Result<Part> message(std::span<const CallableTool> tools) {
    constexpr std::string_view kChannel = "<|channel|>commentary";
    std::vector<Part> channel_first;
    std::vector<Part> tool_first;
    for (const CallableTool& tool : tools) {
      Result<Part> arguments = this->arguments(tool);
      if (!arguments) return arguments;
      channel_first.push_back(builder_.sequence({text(tool.name + syntax_.middle), *arguments}));
      const Part json = one_of({text(" json<|message|>"), text(" <|constrain|>json<|message|>")});
      tool_first.push_back(
          builder_.sequence({text(fmt::format("{}{}", tool.name, kChannel)), json, *arguments}));
    }
    return one_of({builder_.sequence({text(syntax_.open), one_of(std::move(channel_first))}),
                   builder_.sequence({text(" to=functions."), one_of(std::move(tool_first))})});
  }

  // The message that answers, from its role on.
  Part final_message(Part text_of_it) {
    const Part header = one_of({text("<|channel|>final<|message|>"),
                                text("<|channel|>final <|constrain|>json<|message|>")});
    return builder_.sequence({header, text_of_it});
  }

 private:
  Part one_of(std::vector<Part> parts) {
    return parts.size() == 1 ? parts.front() : builder_.choice(std::move(parts));
  }

  std::string name(const CallableTool& tool) const {
    if (syntax_.form != Form::kJson) return tool.name;
    const std::string quoted = json::serialize(json::string(tool.name));
    return quoted.substr(1, quoted.size() - 2);
  }

  Result<Part> arguments(const CallableTool& tool) {
    std::vector<std::string> warnings;
    const grammar::SchemaOptions options{
        .whitespace =
            syntax_.blanks_vary ? grammar::Whitespace::kFlexible : grammar::Whitespace::kSpaced,
        .only_objects = true,
        .property_order =
            tool.any_order ? grammar::PropertyOrder::kAny : grammar::PropertyOrder::kDefinition,
        .unknown = words_.unknown,
        .warn = [&](std::string warning) { warnings.push_back(std::move(warning)); }};
    Result<Part> part = arguments(tool, tool.schema, options);
    if (!part && part.error().kind != ErrorKind::kInvalid) return part;
    if (!part && tool.strict)
      return Error{ErrorKind::kInvalid, fmt::format("{}: {}", tool.place, part.error().message)};
    if (!part) {
      warnings = {part.error().message + "; not enforced: its arguments are any JSON object"};
      part = arguments(tool, json::object{{"type", "object"}}, options);
    }
    for (const std::string& warning : warnings) {
      if (words_.warn) words_.warn(fmt::format("{}: {}", tool.place, warning));
    }
    return part;
  }

  Result<Part> arguments(const CallableTool& tool, const json::value& schema,
                         const grammar::SchemaOptions& options) {
    if (syntax_.form != Form::kTagged)
      return grammar::schema_part(builder_, schema, options, give_up_);
    const json::object function = {{"name", tool.name}, {"parameters", schema}};
    const chat::ToolTable table(json::array{json::object{{"function", function}}});
    const auto kind_of = [&](std::string_view member) {
      switch (table.kind_of(tool.name, member)) {
        case chat::ValueKind::kString:
          return grammar::TaggedKind::kText;
        case chat::ValueKind::kJson:
          return grammar::TaggedKind::kJson;
        case chat::ValueKind::kEither:
          break;
      }
      return grammar::TaggedKind::kEither;
    };
    return grammar::tagged_object_part(
        builder_, schema,
        {.key_open = format_.escapes.escape(syntax_.key_open),
         .key_close = format_.escapes.escape(syntax_.key_close),
         .value_close = format_.escapes.escape(syntax_.value_close),
         .end_mark = std::string(chat::without_space(syntax_.value_close)),
         .kind_of = kind_of},
        options, give_up_);
  }

  GrammarBuilder& builder_;
  const CallFormat& format_;
  const ToolSyntax& syntax_;
  const grammar::GiveUp& give_up_;
  const SchemaWords& words_;
};

}  // namespace

std::optional<std::string> not_enforceable(const ToolSyntax& syntax) {
  if (syntax.form == Form::kNone)
    return "how this model writes calls of tools is not known from its chat template";
  return std::nullopt;
}

std::string_view said_before_calls(const ToolSyntax& syntax) {
  return has_channels(syntax) ? kTurn : std::string_view();
}

chat::ReasoningFormat reasoning_before_calls(const ToolSyntax& syntax,
                                             const chat::ReasoningFormat& reasoning) {
  if (!has_channels(syntax)) return reasoning;
  return {.kind = chat::ReasoningFormat::Kind::kTags,
          .open = "<|channel|>analysis<|message|>",
          .close = "<|end|>"};
}

std::vector<CallTriggers::Trigger> triggers_of_calls(const CallFormat& format) {
  const ToolSyntax& syntax = format.syntax;
  if (not_enforceable(syntax) || syntax.mark.empty()) return {};
  const auto escape = [&](std::string_view text) { return format.escapes.escape(text); };
  if (!has_channels(syntax)) {
    return {{.text = syntax.mark,
             .next = (syntax.begin + syntax.open).substr(syntax.mark.size()),
             .begun = escape(syntax.mark)}};
  }
  // Without the point, which tokens may join with a name.
  const std::string channel_first = syntax.open.substr(0, syntax.open.size() - 1);
  const std::string tool_first = std::string(kTurn) + " to=functions";
  return {
      {.text = escape(channel_first), .next = ".", .begun = escape(kTurn) + escape(channel_first)},
      {.text = escape(tool_first), .next = ".", .begun = escape(tool_first)}};
}

namespace {

// Calls, behind what is said before them.
Result<Part> calls_part(GrammarBuilder& builder, CallWriter& writer,
                        std::span<const CallableTool> tools, const ToolSyntax& syntax) {
  if (has_channels(syntax)) return writer.message(tools);
  Result<Part> calls = writer.calls(tools);
  if (!calls) return calls;
  const Part first = builder.sequence(
      {writer.text(syntax.begin + syntax.open), *calls, writer.text(syntax.close)});
  if (!syntax.several) return builder.sequence({first, writer.text(syntax.end)});
  const Part next = builder.sequence(
      {writer.text(syntax.between + syntax.open), *calls, writer.text(syntax.close)});
  return builder.sequence({first, builder.repeat(next, 0, std::nullopt), writer.text(syntax.end)});
}

}  // namespace

Result<std::shared_ptr<const grammar::Grammar>> call_grammar(std::span<const CallableTool> tools,
                                                             const CallFormat& format,
                                                             const grammar::GiveUp& give_up,
                                                             const SchemaWords& words) {
  GrammarBuilder builder;
  CallWriter writer(builder, format, give_up, words);
  Result<Part> calls = calls_part(builder, writer, tools, format.syntax);
  if (!calls) return calls.error();
  const Part before = writer.text(said_before_calls(format.syntax));
  return builder.finish(builder.sequence({before, *calls}), {}, give_up);
}

Result<std::shared_ptr<const grammar::Grammar>> call_or_form_grammar(
    GrammarBuilder& builder, Part form, std::span<const CallableTool> tools,
    const CallFormat& format, const grammar::GiveUp& give_up, const SchemaWords& words) {
  const ToolSyntax& syntax = format.syntax;
  CallWriter writer(builder, format, give_up, words);
  Result<Part> calls = calls_part(builder, writer, tools, syntax);
  if (!calls) return calls.error();
  if (has_channels(syntax)) form = writer.final_message(form);
  const Part before = writer.text(said_before_calls(syntax));
  return builder.finish(builder.sequence({before, builder.choice({*calls, form})}), {}, give_up);
}

}  // namespace windrow::engine
