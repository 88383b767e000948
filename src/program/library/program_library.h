// The programs and Lua modules that Windrow ships: the files of the folder programs/, which are
// part of the binary. Programs are run by name (`windrow exec graph_of_thought`); modules are what
// require() finds. Immutable; any thread.
#pragma once

#include <span>
#include <string_view>

namespace windrow::program {

struct ShippedScript {
  std::string_view name;    // "graph_of_thought"; of a module "graph"
  std::string_view source;  // Lua
  std::string_view about;   // the first line of its comment
  bool is_module = false;   // for require(); else a program
};

// In the order of their names.
std::span<const ShippedScript> shipped_scripts();

// Null where there is none.
const ShippedScript* find_shipped_program(std::string_view name);
const ShippedScript* find_shipped_module(std::string_view name);

}  // namespace windrow::program
