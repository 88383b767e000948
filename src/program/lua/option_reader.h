// OptionReader: the table of options that a function of programs takes, read with its checks. What
// is wrong is raised as a Lua error that names function, option, value and what it may be.
#pragma once

#include <lua.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::program {

class OptionReader {
 public:
  // The table at `index`; absent (nil) is an empty one. `function` is for messages: "generate".
  OptionReader(lua_State* state, int index, std::string_view function);

  std::optional<int64_t> integer(const char* name, int64_t min, int64_t max);
  std::optional<double> number(const char* name, double min, double max);
  std::optional<bool> boolean(const char* name);
  std::optional<std::string> text(const char* name);

  // A text, or a list of them; empty: absent.
  std::vector<std::string> texts(const char* name);

  // A table as JSON text, or a text that is JSON.
  std::optional<std::string> json_text(const char* name);

  // Raises an error for an option that was not asked for.
  void finish() const;

 private:
  int push(const char* name);  // its type; the value is on top of the stack unless that is LUA_TNIL
  [[noreturn]] void refuse(const char* name, std::string_view what) const;

  lua_State* const state_;
  const int index_;
  const std::string function_;
  std::vector<std::string_view> known_;
};

// Arguments of functions, likewise: `place` is for messages ("score", "the choices of select").
std::string text_argument(lua_State* state, int index, std::string_view place);
std::vector<std::string> texts_argument(lua_State* state, int index, std::string_view place);

}  // namespace windrow::program
