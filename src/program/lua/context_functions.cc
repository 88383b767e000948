// The global Context: contexts as values of Lua, and their methods.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "program/limits.h"
#include "program/lua/lua_failure.h"
#include "program/lua/lua_json.h"
#include "program/lua/lua_tables.h"
#include "program/lua/option_reader.h"
#include "program/lua/running_program.h"

namespace windrow::program {
namespace {

constexpr const char* kContexts = "windrow.Context";

// What a value of Lua holds of a context.
struct ContextBox {
  ContextId id;
};

void push_context(lua_State* state, ContextId id) {
  auto* box = static_cast<ContextBox*>(lua_newuserdatauv(state, sizeof(ContextBox), 0));
  *box = ContextBox{id};
  luaL_setmetatable(state, kContexts);
}

// Makes room for a value first: a context that was made has to reach its value of Lua.
ContextBox* push_empty_context(lua_State* state) {
  push_context(state, ContextId());
  return static_cast<ContextBox*>(lua_touserdata(state, -1));
}

ContextId id_at(lua_State* state, const char* method) {
  const auto* box = static_cast<ContextBox*>(luaL_testudata(state, 1, kContexts));
  if (box == nullptr)
    raise(state,
          fmt::format("{} is a method of a context: call it as ctx:{}(...)", method, method));
  return box->id;
}

// What a method takes, as instructions of Lua: some microseconds, which no hook sees.
constexpr int64_t kInstructionsOfMethod = 100;

// The context that a method is called on: there, and not in use by a call that waits.
HeldContext& context_at(lua_State* state, const char* method) {
  RunningProgram::of(state).lua.charge(state, kInstructionsOfMethod);
  HeldContext* held = RunningProgram::of(state).host.find(id_at(state, method));
  if (held == nullptr)
    raise(state, fmt::format("ctx:{}: the context was released; fork it before it is", method));
  if (held->is_busy) {
    raise(state,
          fmt::format("ctx:{}: another branch's call waits for this context; give each branch "
                      "a fork of its own",
                      method));
  }
  return *held;
}

TaskId running_task(lua_State* state, const char* function) {
  const TaskId task = RunningProgram::of(state).current;
  if (task == TaskId()) {
    raise(state, fmt::format("{} is called outside the program's function; call it in the function "
                             "that the program returns",
                             function));
  }
  return task;
}

// What contexts take outside Lua has the same limit as Lua's memory, and ends the program alike.
void check_memory(lua_State* state) {
  RunningProgram& program = RunningProgram::of(state);
  const std::optional<std::string> fault = program.host.memory_fault();
  if (!fault) return;
  program.lua.forbid(kMemoryLimit, *fault);
  raise(state, *fault);
}

// The method returns its context, so that calls can be chained.
int return_context(lua_State* state, const std::optional<llm::Failure>& failure) {
  if (failure) raise(state, *failure);
  check_memory(state);
  lua_settop(state, 1);
  return 1;
}

int new_context(lua_State* state) {
  const TaskId task = running_task(state, "Context.new");
  RunningProgram::of(state).lua.charge(state, kInstructionsOfMethod);
  OptionReader options(state, 1, "Context.new");
  const std::string model = options.text("model").value_or("");
  ContextOptions made{.thinking = options.boolean("thinking")};
  made.keep_thoughts = options.boolean("keep_thoughts").value_or(false);
  options.finish();
  ContextBox* box = push_empty_context(state);
  auto added = RunningProgram::of(state).host.new_context(task, model, made);
  if (const auto* failure = std::get_if<llm::Failure>(&added)) raise(state, *failure);
  box->id = std::get<ContextId>(added);
  return 1;
}

template <Role kRole>
int add_message(lua_State* state) {
  constexpr const char* kNames[] = {"system", "user", "assistant"};
  constexpr const char* kName = kNames[static_cast<size_t>(kRole)];
  HeldContext& held = context_at(state, kName);
  const std::string text = text_argument(state, 2, kName);
  return return_context(state, held.context.add(kRole, text));
}

int cue(lua_State* state) {
  return return_context(state, context_at(state, "cue").context.cue());
}

int append(lua_State* state) {
  HeldContext& held = context_at(state, "append");
  if (!lua_istable(state, 2)) {
    const std::string text = text_argument(state, 2, "append");
    return return_context(state, held.context.append(text));
  }
  const auto count = static_cast<lua_Integer>(lua_rawlen(state, 2));
  if (count > kTableLengthMax) raise(state, std::string("append: the list of ids is too long"));
  std::vector<int32_t> tokens;
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(state, 2, i);
    int is_integer = 0;
    const lua_Integer token = lua_tointegerx(state, -1, &is_integer);
    if (is_integer == 0 || token < 0 || token > std::numeric_limits<int32_t>::max())
      raise(state, fmt::format("append: number {} of the list is no token id", i));
    tokens.push_back(static_cast<int32_t>(token));
    lua_pop(state, 1);
  }
  return return_context(state, held.context.append(tokens));
}

int fork(lua_State* state) {
  const TaskId task = running_task(state, "fork");
  (void)context_at(state, "fork");
  const ContextId parent = id_at(state, "fork");
  const bool is_list = !lua_isnoneornil(state, 2);
  lua_Integer count = 1;
  if (is_list) {
    int is_integer = 0;
    count = lua_tointegerx(state, 2, &is_integer);
    if (is_integer == 0 || count < 1 || count > kTableLengthMax)
      raise(state, std::string("fork: the number of forks is a whole number from 1 on"));
  }
  // Values first, then contexts, so that none is without a value when memory runs out. Holding as
  // many as there may be is the host's to refuse.
  lua_createtable(state, static_cast<int>(std::min<lua_Integer>(count, 1024)), 0);
  auto forked = RunningProgram::of(state).host.fork(task, parent, static_cast<size_t>(count));
  if (const auto* failure = std::get_if<llm::Failure>(&forked)) raise(state, *failure);
  const auto& ids = std::get<std::vector<ContextId>>(forked);
  const auto release_from = [&](size_t first) {
    for (size_t i = first; i < ids.size(); ++i)
      RunningProgram::of(state).host.release(ids[i]);
  };
  size_t made = 0;
  // Raised errors are exceptions: what has no value yet is released on the way.
  struct OnWay {
    const std::function<void(size_t)> release;
    size_t& made;
    size_t count;
    ~OnWay() {
      if (made < count) release(made);
    }
  } on_way{release_from, made, ids.size()};
  for (const ContextId id : ids) {
    push_context(state, id);
    ++made;
    if (!is_list) return 1;
    lua_rawseti(state, -2, static_cast<lua_Integer>(made));
  }
  return 1;
}

// The structure that the options ask for.
std::optional<llm::StructureSpec> structure_of(lua_State* state, OptionReader& options) {
  std::optional<std::string> schema = options.json_text("schema");
  std::optional<std::string> regex = options.text("regex");
  std::vector<std::string> choices = options.texts("choice");
  const int given = static_cast<int>(schema.has_value()) + static_cast<int>(regex.has_value()) +
                    static_cast<int>(!choices.empty());
  if (given > 1) raise(state, std::string("generate: give one of schema, regex and choice"));
  if (given == 0) return std::nullopt;
  llm::StructureSpec spec;
  if (schema) {
    spec.kind = llm::StructureSpec::Kind::kJsonSchema;
    spec.text = *std::move(schema);
    spec.param = "schema";
  } else if (regex) {
    spec.kind = llm::StructureSpec::Kind::kRegex;
    spec.text = *std::move(regex);
    spec.param = "regex";
  } else {
    spec.kind = llm::StructureSpec::Kind::kChoice;
    spec.choices = std::move(choices);
    spec.param = "choice";
  }
  return spec;
}

template <class To, class From>
std::optional<To> narrowed(const std::optional<From>& value) {
  if (!value) return std::nullopt;
  return static_cast<To>(*value);
}

int generate(lua_State* state) {
  check_may_wait(state, "generate");
  (void)context_at(state, "generate");
  constexpr int64_t kTokensMax = std::numeric_limits<int32_t>::max();
  constexpr double kTemperatureMax = 2;
  constexpr size_t kStopsMax = 16;
  GenerateOptions made;
  OptionReader options(state, 2, "generate");
  made.output_tokens_max = narrowed<int32_t>(options.integer("max_tokens", 1, kTokensMax));
  made.temperature = narrowed<float>(options.number("temperature", 0, kTemperatureMax));
  made.top_p = narrowed<float>(options.number("top_p", 0, 1));
  made.top_k = narrowed<int32_t>(options.integer("top_k", 0, kTokensMax));
  made.min_p = narrowed<float>(options.number("min_p", 0, 1));
  const std::optional<int64_t> seed = options.integer("seed", 0, INT64_MAX);
  made.stop = options.texts("stop");
  made.structured = structure_of(state, options);
  made.thinking = options.boolean("thinking");
  made.thought_tokens_max = narrowed<int32_t>(options.integer("thought_tokens", 0, kTokensMax));
  options.finish();
  for (const std::string& stop : made.stop) {
    if (stop.empty()) raise(state, std::string("generate: a stop text must not be empty"));
  }
  if (made.stop.size() > kStopsMax)
    raise(state, fmt::format("generate: at most {} stop texts", kStopsMax));
  RunningProgram& program = RunningProgram::of(state);
  const auto failure = program.host.begin_generate(program.current, id_at(state, "generate"),
                                                   std::move(made), narrowed<uint64_t>(seed));
  if (failure) raise(state, *failure);
  return wait(state);
}

int score(lua_State* state) {
  check_may_wait(state, "score");
  (void)context_at(state, "score");
  std::vector<std::string> texts = texts_argument(state, 2, "score");
  RunningProgram& program = RunningProgram::of(state);
  const auto failure =
      program.host.begin_score(program.current, id_at(state, "score"), std::move(texts));
  if (failure) raise(state, *failure);
  return wait(state);
}

int select(lua_State* state) {
  check_may_wait(state, "select");
  (void)context_at(state, "select");
  std::vector<std::string> choices = texts_argument(state, 2, "select");
  RunningProgram& program = RunningProgram::of(state);
  const auto failure =
      program.host.begin_select(program.current, id_at(state, "select"), std::move(choices));
  if (failure) raise(state, *failure);
  return wait(state);
}

int embed(lua_State* state) {
  check_may_wait(state, "embed");
  HeldContext& held = context_at(state, "embed");
  std::vector<std::string> texts;
  const bool is_single = !lua_istable(state, 2);
  if (lua_isnoneornil(state, 2)) {
    texts.push_back(held.context.text());
  } else if (is_single) {
    texts.push_back(text_argument(state, 2, "embed"));
  } else {
    texts = texts_argument(state, 2, "embed");
  }
  OptionReader options(state, 3, "embed");
  const std::string model = options.text("model").value_or("");
  options.finish();
  RunningProgram& program = RunningProgram::of(state);
  const auto failure =
      program.host.begin_embed(program.current, model, std::move(texts), is_single);
  if (failure) raise(state, *failure);
  return wait(state);
}

std::vector<int32_t> tokens_of(lua_State* state, const char* method) {
  auto tokens = context_at(state, method).context.tokens();
  if (const auto* failure = std::get_if<llm::Failure>(&tokens)) raise(state, *failure);
  return std::get<std::vector<int32_t>>(std::move(tokens));
}

int tokens(lua_State* state) {
  const std::vector<int32_t> ids = tokens_of(state, "tokens");
  lua_createtable(state, static_cast<int>(ids.size()), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    lua_pushinteger(state, ids[i]);
    lua_rawseti(state, -2, static_cast<lua_Integer>(i) + 1);
  }
  return 1;
}

int length(lua_State* state) {
  lua_pushinteger(state, static_cast<lua_Integer>(tokens_of(state, "tokens").size()));
  return 1;
}

int text(lua_State* state) {
  const std::string made = context_at(state, "text").context.text();
  lua_pushlstring(state, made.data(), made.size());
  return 1;
}

int messages(lua_State* state) {
  push_json(state, context_at(state, "messages").context.messages());
  return 1;
}

int truncate(lua_State* state) {
  HeldContext& held = context_at(state, "truncate");
  int is_integer = 0;
  const lua_Integer count = lua_tointegerx(state, 2, &is_integer);
  if (is_integer == 0 || count < 0)
    raise(state, std::string("truncate: the number of tokens to keep is a whole number from 0 on"));
  return return_context(state, held.context.truncate(static_cast<size_t>(count)));
}

// Also what <close> and the collector call. A context that is in use is released when its call has
// ended.
int release(lua_State* state) {
  const auto* box = static_cast<ContextBox*>(luaL_testudata(state, 1, kContexts));
  if (box != nullptr && box->id != ContextId()) RunningProgram::of(state).host.release(box->id);
  return 0;
}

int to_string(lua_State* state) {
  lua_pushfstring(state, "context %d", static_cast<int>(id_at(state, "tostring").value()));
  return 1;
}

// Messages, templates and tokens of a long context may take longer than a slice.
template <int (*Function)(lua_State*)>
int method(lua_State* state) {
  const int values = guarded<Function>(state);
  LuaState::end_long_slice(state);
  return values;
}

constexpr luaL_Reg kMethods[] = {
    {"system", method<add_message<Role::kSystem>>},
    {"user", method<add_message<Role::kUser>>},
    {"assistant", method<add_message<Role::kAssistant>>},
    {"cue", method<cue>},
    {"append", method<append>},
    {"fork", method<fork>},
    {"generate", method<generate>},
    {"score", method<score>},
    {"select", method<select>},
    {"embed", method<embed>},
    {"tokens", method<tokens>},
    {"text", method<text>},
    {"messages", method<messages>},
    {"truncate", method<truncate>},
    {"release", guarded<release>},
    {nullptr, nullptr},
};

constexpr luaL_Reg kMetamethods[] = {
    {"__gc", guarded<release>}, {"__close", guarded<release>},
    {"__len", method<length>},  {"__tostring", guarded<to_string>},
    {nullptr, nullptr},
};

}  // namespace

void open_contexts(lua_State* state) {
  luaL_newmetatable(state, kContexts);
  luaL_setfuncs(state, kMetamethods, 0);
  luaL_newlib(state, kMethods);
  lua_setfield(state, -2, "__index");
  lua_pushliteral(state, "context");
  lua_setfield(state, -2, "__metatable");
  lua_pop(state, 1);
  lua_createtable(state, 0, 1);
  lua_pushcfunction(state, guarded<new_context>);
  lua_setfield(state, -2, "new");
  lua_setglobal(state, "Context");
}

}  // namespace windrow::program
