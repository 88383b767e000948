#include "program/library/program_library.h"

#include <embedded/answers.lua.h>
#include <embedded/best_of_n.lua.h>
#include <embedded/graph.lua.h>
#include <embedded/graph_of_thought.lua.h>
#include <embedded/inputs.lua.h>
#include <embedded/map_reduce.lua.h>
#include <embedded/self_consistency.lua.h>

#include <algorithm>
#include <array>

namespace windrow::program {
namespace {

// Every file begins with a comment.
constexpr std::string_view about_of(std::string_view source) {
  constexpr std::string_view kComment = "-- ";
  return source.substr(kComment.size(), source.find('\n') - kComment.size());
}

constexpr ShippedScript program(std::string_view name, std::string_view source) {
  return {.name = name, .source = source, .about = about_of(source)};
}

constexpr ShippedScript module(std::string_view name, std::string_view source) {
  return {.name = name, .source = source, .about = about_of(source), .is_module = true};
}

constexpr std::array kScripts = {
    module("answers", embedded::kAnswersLua),
    program("best_of_n", embedded::kBestOfNLua),
    module("graph", embedded::kGraphLua),
    program("graph_of_thought", embedded::kGraphOfThoughtLua),
    module("inputs", embedded::kInputsLua),
    program("map_reduce", embedded::kMapReduceLua),
    program("self_consistency", embedded::kSelfConsistencyLua),
};

const ShippedScript* find(std::string_view name, bool is_module) {
  const auto* found = std::ranges::find_if(kScripts, [&](const ShippedScript& script) {
    return script.name == name && script.is_module == is_module;
  });
  return found == kScripts.end() ? nullptr : found;
}

}  // namespace

std::span<const ShippedScript> shipped_scripts() {
  return kScripts;
}

const ShippedScript* find_shipped_program(std::string_view name) {
  return find(name, false);
}
const ShippedScript* find_shipped_module(std::string_view name) {
  return find(name, true);
}

}  // namespace windrow::program
