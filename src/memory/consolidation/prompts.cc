#include "memory/consolidation/prompts.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "json/parse.h"
#include "json/values.h"
#include "memory/bank/iso_time.h"
#include "memory/consolidation/acceptance.h"
#include "memory/consolidation/wordings.h"
#include "memory/models/answer_schema.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

// --- times ---

std::string date_of(UnixMs time) {
  return to_iso(time).substr(0, 10);
}

// Without seconds, and without a time that is midnight: then most often only the day is known.
std::string short_time(UnixMs time) {
  const std::string iso = to_iso(time);
  const bool is_midnight = std::string_view(iso).substr(11, 8) == "00:00:00";
  return is_midnight ? iso.substr(0, 10) : iso.substr(0, 10) + " " + iso.substr(11, 5);
}

// "2024-01-31", "2024-01-31 to 2024-02-02".
std::string short_span(UnixMs first, std::optional<UnixMs> last) {
  std::string begin = short_time(first);
  if (!last || *last <= first) return begin;
  std::string end = short_time(*last);
  return begin == end ? begin : fmt::format("{} to {}", begin, end);
}

// " (one; other)", or nothing.
std::string in_brackets(const std::vector<std::string>& notes, std::string_view separator = "; ") {
  if (notes.empty()) return "";
  std::string text = " (";
  for (size_t i = 0; i < notes.size(); ++i)
    text.append(i == 0 ? "" : separator).append(notes[i]);
  return text + ")";
}

std::string numbered(char letter, size_t index) {
  return fmt::format("{}{}", letter, index + 1);
}

// --- the profile compact ---

std::string compact_fact(const Memory& fact) {
  std::vector<std::string> notes;
  if (fact.times.occurred_start) {
    notes.push_back("happened " + short_span(*fact.times.occurred_start, fact.times.occurred_end));
  }
  if (fact.times.mentioned) notes.push_back("told " + date_of(*fact.times.mentioned));
  if (std::string context = normalised(fact.context); !context.empty()) {
    notes.push_back("about: " + context);
  }
  return normalised(fact.text) + in_brackets(notes);
}

std::string compact_observation(const Memory& observation) {
  std::vector<std::string> notes = {observation.proof_count == 1
                                        ? std::string("1 fact")
                                        : fmt::format("{} facts", observation.proof_count)};
  if (observation.times.occurred_start) {
    notes.push_back(short_span(*observation.times.occurred_start, observation.times.occurred_end));
  }
  return normalised(observation.text) + in_brackets(notes);
}

std::string capacity_of(int64_t creates_max) {
  if (creates_max == 0) {
    return "There is no room for new observations; each delete makes room for one.";
  }
  return fmt::format("There is room for {} new observation{}; each delete makes room for one more.",
                     creates_max, creates_max == 1 ? "" : "s");
}

std::string_view mission_of(const PromptOptions& options) {
  return options.mission.empty() ? default_mission() : std::string_view(options.mission);
}

const std::vector<Memory>* sources_shown_with(const Memory& observation,
                                              const PromptOptions& options) {
  const auto found = options.source_facts.find(observation.id);
  return found == options.source_facts.end() ? nullptr : &found->second;
}

std::string compact_user(std::span<const Memory> facts, std::span<const ShownObservation> shown,
                         const PromptOptions& options) {
  std::string text = fmt::format("Mission: {}\n", normalised(mission_of(options)));
  if (options.creates_max >= 0) text += capacity_of(options.creates_max) + "\n";
  text += "\nObservations:\n";
  for (size_t i = 0; i < shown.size(); ++i) {
    const Memory& observation = shown[i].observation;
    text += fmt::format("{}: {}\n", numbered('O', i), compact_observation(observation));
    if (const auto* const sources = sources_shown_with(observation, options)) {
      for (const Memory& source : *sources)
        text += fmt::format("  - {}\n", compact_fact(source));
    }
  }
  if (shown.empty()) text += "none\n";
  text += "\nFacts:";
  for (size_t i = 0; i < facts.size(); ++i)
    text += fmt::format("\n{}: {}", numbered('F', i), compact_fact(facts[i]));
  return text;
}

// --- the profile demo: the first layout of tools/demo_model/tasks/consolidation.py ---

std::string demo_user(std::span<const Memory> facts, std::span<const ShownObservation> shown) {
  std::string text = "Observations:";
  for (size_t i = 0; i < shown.size(); ++i) {
    text += fmt::format("\n{} ({})", normalised(shown[i].observation.text), numbered('O', i));
  }
  if (shown.empty()) text += "\nnone";
  text += "\nFacts:";
  for (size_t i = 0; i < facts.size(); ++i)
    text += fmt::format("\n{}: {}", numbered('F', i), normalised(facts[i].text));
  return text;
}

// --- the profile hindsight ---

void add_times(const MemoryTimes& times, json::object& object) {
  if (times.occurred_start) object["occurred_start"] = to_iso(*times.occurred_start);
  if (times.occurred_end) object["occurred_end"] = to_iso(*times.occurred_end);
  if (times.mentioned) object["mentioned_at"] = to_iso(*times.mentioned);
}

std::string hindsight_fact(const Memory& fact) {
  json::object times;
  add_times(fact.times, times);
  std::vector<std::string> notes;
  for (const auto& [name, time] : times) {
    notes.push_back(
        fmt::format("{}={}", std::string_view(name), std::string_view(time.get_string())));
  }
  return fmt::format("[{}] {}{}", fact.id.text, normalised(fact.text), in_brackets(notes, ", "));
}

json::object hindsight_observation(const Memory& observation, const std::vector<Memory>* sources) {
  json::object object{{"id", observation.id.text},
                      {"text", observation.text},
                      {"proof_count", observation.proof_count}};
  add_times(observation.times, object);
  json::array memories;
  if (sources != nullptr) {
    for (const Memory& source : *sources) {
      json::object memory{{"text", source.text}};
      if (!source.context.empty()) memory["context"] = source.context;
      add_times(source.times, memory);
      memories.emplace_back(std::move(memory));
    }
  }
  object["source_memories"] = std::move(memories);
  return object;
}

std::string hindsight_user(std::span<const Memory> facts, std::span<const ShownObservation> shown,
                           const PromptOptions& options) {
  std::string text = fmt::format("## MISSION\n{}\n\n", mission_of(options));
  if (options.creates_max >= 0) {
    text += fmt::format("## CAPACITY CONSTRAINT\n{}\n\n", capacity_of(options.creates_max));
  }
  text += "## INPUT\nNew facts:\n";
  for (const Memory& fact : facts)
    text += hindsight_fact(fact) + "\n";
  json::array observations;
  for (const ShownObservation& one : shown) {
    observations.emplace_back(
        hindsight_observation(one.observation, sources_shown_with(one.observation, options)));
  }
  text += "\nExisting observations:\n" + json::serialize(observations);
  return text;
}

// --- schemas ---

// Any of so many ids; there is at least one.
json::object id_schema(char letter, size_t count) {
  json::array ids;
  for (size_t i = 0; i < count; ++i)
    ids.emplace_back(numbered(letter, i));
  return one_of(std::move(ids));
}

// It depends on counts only, so that a grammar that was made for it is used again.
json::object actions_schema(size_t facts, size_t observations, const PromptOptions& options) {
  const bool has_short_ids = options.profile != PromptProfile::kHindsight;
  json::object sources =
      list_schema(has_short_ids && facts > 0 ? id_schema('F', facts) : text_schema(),
                  static_cast<int64_t>(facts));
  sources["minItems"] = 1;
  const json::object target =
      has_short_ids && observations > 0 ? id_schema('O', observations) : text_schema();
  const auto reason = [&](json::array words) {
    return options.profile == PromptProfile::kDemo ? one_of(std::move(words)) : text_schema();
  };

  // A bound that no response reaches would only make further grammars.
  std::optional<int64_t> creates_max;
  const int64_t room = options.creates_max + static_cast<int64_t>(observations);
  if (options.creates_max >= 0 && room < 2 * static_cast<int64_t>(facts)) creates_max = room;
  std::optional<int64_t> none_without_observations;
  if (observations == 0) none_without_observations = 0;

  return closed_object(
      {{"creates", list_schema(closed_object({{"text", text_schema()},
                                              {"source_fact_ids", sources},
                                              {"reason", reason({"new"})}}),
                               creates_max)},
       {"updates", list_schema(closed_object({{"text", text_schema()},
                                              {"observation_id", target},
                                              {"source_fact_ids", sources},
                                              {"reason", reason({"changed", "refined"})}}),
                               none_without_observations)},
       {"deletes",
        list_schema(closed_object({{"observation_id", target}, {"reason", reason({"ended"})}}),
                    none_without_observations)}});
}

}  // namespace

PromptLimits limits_of(PromptProfile profile) {
  if (profile == PromptProfile::kDemo) return {.facts_max = 4, .observations_max = 5};
  return {};
}

BatchPrompt batch_prompt(std::span<const Memory> facts, std::span<const ShownObservation> shown,
                         const PromptOptions& options) {
  BatchPrompt prompt;
  prompt.system = consolidation_system_text(options.profile);
  switch (options.profile) {
    case PromptProfile::kCompact:
      prompt.user = compact_user(facts, shown, options);
      break;
    case PromptProfile::kDemo:
      prompt.user = demo_user(facts, shown);
      break;
    case PromptProfile::kHindsight:
      prompt.user = hindsight_user(facts, shown, options);
      break;
  }
  prompt.schema = actions_schema(facts.size(), shown.size(), options);
  const bool has_short_ids = options.profile != PromptProfile::kHindsight;
  for (size_t i = 0; i < facts.size(); ++i)
    prompt.facts.emplace(has_short_ids ? numbered('F', i) : facts[i].id.text, facts[i].id);
  for (size_t i = 0; i < shown.size(); ++i) {
    const MemoryId& id = shown[i].observation.id;
    prompt.observations.emplace(has_short_ids ? numbered('O', i) : id.text, id);
  }
  return prompt;
}

FoldPrompt fold_prompt(const Memory& one, const Memory& other, PromptProfile profile) {
  FoldPrompt prompt;
  prompt.system = fold_system_text(profile);
  prompt.user = fmt::format("A: {}\nB: {}", normalised(one.text), normalised(other.text));
  prompt.schema = closed_object(
      {{"action", one_of({"merge", "keep"})}, {"text", text_schema()}, {"reason", text_schema()}});
  return prompt;
}

std::string fold_text(std::string_view response) {
  const auto parsed = parse_json(json_object_in(response));
  const auto* const value = std::get_if<json::value>(&parsed);
  if (value == nullptr || !value->is_object()) return "";
  std::string action = normalised(text_in(value->get_object(), "action"));
  for (char& character : action) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  if (action != "merge") return "";
  std::string text(text_in(value->get_object(), "text"));
  std::erase(text, '\0');
  return normalised(text);
}

}  // namespace windrow::memory
