-- The named operations of a graph of thoughts, as plain functions over lists of candidates.
--
--   local graph = require("graph")
--
-- After Besta et al., "Graph of Thoughts" (AAAI 2024), whose operations have the same names. A
-- candidate is a table:
--
--   text       what the model said, or a part of the input
--   truncated  the answer was cut off by max_tokens
--   level      how many rounds of joining it took; 0: none
--   from       the candidates it was made of
--   score      of score()
--   valid, problem   of validate()
--
-- Every function returns new tables; lists and candidates that it is given stay as they are.
-- A function that asks the model takes a context `base`: each question is asked on a fork of it,
-- which is released as soon as its answer is there. All questions of one call are in flight
-- together, at most `limit` of them where that is given.
--
-- `options` of these functions has `prompt`, and what ctx:generate takes: max_tokens, temperature,
-- top_p, seed, stop, schema, ... An error of a model goes on to the caller and cancels the other
-- questions.

local graph = {}

local function check(condition, name, what)
  if not condition then error("graph." .. name .. ": " .. what, 3) end
end

local function check_prompt(options, name)
  check(type(options.prompt) == "function", name, "give prompt, a function that returns a text")
end

local function copy(candidate)
  local new = {}
  for key, value in pairs(candidate) do new[key] = value end
  return new
end

-- map, without a branch where there is one item only.
local function each(list, f, limit)
  if #list == 1 then return {f(list[1], 1)} end
  return map(list, f, limit)
end

-- The names in `options` that are not for ctx:generate.
local OWN = {prompt = true, count = true, limit = true, parse = true}

local function sampling_of(options)
  local sampling = {}
  for key, value in pairs(options) do
    if not OWN[key] then sampling[key] = value end
  end
  return sampling
end

-- One question on a fork of `base`, as a candidate; without a prompt, what `base` asks already.
-- With options.parse, its text is what that makes of the answer.
local function ask(base, prompt, options, from)
  local ctx <close> = base:fork()
  if prompt then ctx:user(prompt) end
  local answer = ctx:generate(sampling_of(options))
  local level = 0
  for _, parent in ipairs(from) do level = math.max(level, parent.level or 0) end
  return {
    text = options.parse and options.parse(answer) or answer.text,
    truncated = answer.truncated,
    level = level,
    from = from,
  }
end

-- candidate(text) makes a candidate of a text. Errors: not a string.
function graph.candidate(text)
  check(type(text) == "string", "candidate", "the text is a " .. type(text) .. ": give a string")
  return {text = text, truncated = false, level = 0, from = {}}
end

-- texts(list) returns the texts of the candidates.
function graph.texts(list)
  local texts = {}
  for i, candidate in ipairs(list) do texts[i] = candidate.text end
  return texts
end

-- split(candidate, f) returns the parts of a candidate: f(text) returns a list of strings. f may
-- ask the model. Errors: f returns no strings.
function graph.split(candidate, f)
  local parts = f(candidate.text)
  check(type(parts) == "table" and #parts > 0, "split", "the function returned no parts")
  local list = {}
  for i, text in ipairs(parts) do
    list[i] = graph.candidate(text)
    list[i].from = {candidate}
  end
  return list
end

-- generate(base, list, options) asks options.count (1) questions about each candidate:
-- options.prompt(text, i) returns the i-th. Without a prompt `base` has to end with a question,
-- which is computed once for all. The answers, those about one candidate side by side. Errors: a
-- count below 1.
function graph.generate(base, list, options)
  local count = options.count or 1
  check(math.type(count) == "integer" and count >= 1, "generate", "count has to be 1 or more")
  local questions = {}
  for _, candidate in ipairs(list) do
    for i = 1, count do questions[#questions + 1] = {candidate = candidate, number = i} end
  end
  return each(questions, function(question)
    local prompt = options.prompt and options.prompt(question.candidate.text, question.number)
    return ask(base, prompt, options, {question.candidate})
  end, options.limit)
end

-- score(list, f, limit) sets each candidate's score to f(candidate, index), a number, higher is
-- better. f may ask the model. Errors: f returns something else.
function graph.score(list, f, limit)
  return each(list, function(candidate, index)
    local new = copy(candidate)
    new.score = f(candidate, index)
    if type(new.score) ~= "number" or new.score ~= new.score then
      error("graph.score: the function returned " .. tostring(new.score) .. ": return a number", 0)
    end
    return new
  end, limit)
end

-- keep_best(list, n) returns the n candidates with the highest scores, the best first; of equal
-- ones those that come first. All of them where there are no more. Errors: a candidate without a
-- score, n below 1.
function graph.keep_best(list, n)
  check(math.type(n) == "integer" and n >= 1, "keep_best", "the number to keep has to be 1 or more")
  local order = {}
  for i, candidate in ipairs(list) do
    check(candidate.score, "keep_best", "candidate " .. i .. " has no score: call score() first")
    order[i] = i
  end
  table.sort(order, function(a, b)
    if list[a].score ~= list[b].score then return list[a].score > list[b].score end
    return a < b
  end)
  local best = {}
  for i = 1, math.min(n, #order) do best[i] = list[order[i]] end
  return best
end

-- aggregate(base, list, options) makes one candidate of all: options.prompt(texts) returns the
-- question. Its level is one above theirs. Errors: an empty list, no prompt.
function graph.aggregate(base, list, options)
  check(#list > 0, "aggregate", "the list is empty")
  check_prompt(options, "aggregate")
  local new = ask(base, options.prompt(graph.texts(list)), options, list)
  new.level = new.level + 1
  return new
end

-- improve(base, list, options) replaces each candidate by the model's answer to
-- options.prompt(text).
function graph.improve(base, list, options)
  check_prompt(options, "improve")
  return each(list, function(candidate)
    return ask(base, options.prompt(candidate.text), options, {candidate})
  end, options.limit)
end

-- validate(list, f) sets valid and problem: f(candidate) returns true, or false and what is wrong.
-- validate(list, f, fix, tries) replaces one that is not valid by fix(candidate, problem), a
-- candidate, and looks again, up to `tries` times (1).
function graph.validate(list, f, fix, tries)
  return each(list, function(candidate)
    local new = copy(candidate)
    for try = 0, fix and (tries or 1) or 0 do
      if try > 0 then new = copy(fix(new, new.problem)) end
      local valid, problem = f(new)
      new.valid = valid and true or false
      new.problem = not valid and (problem or "it is not valid") or nil
      if valid then break end
    end
    return new
  end)
end

-- select(list, f) returns the candidates for which f(candidate, index) is true, in order.
function graph.select(list, f)
  local chosen = {}
  for i, candidate in ipairs(list) do
    if f(candidate, i) then chosen[#chosen + 1] = candidate end
  end
  return chosen
end

-- Neighbours are joined, all pairs of a level at once; an odd one goes on to the next level.
local function join_levels(list, join, limit)
  while #list > 1 do
    local pairs_of_level = {}
    for i = 1, #list - 1, 2 do pairs_of_level[#pairs_of_level + 1] = {list[i], list[i + 1]} end
    local joined = each(pairs_of_level, function(two) return join(two[1], two[2]) end, limit)
    if #list % 2 == 1 then joined[#joined + 1] = list[#list] end
    list = joined
  end
  return list[1]
end

-- A branch that has made a candidate joins it with the one that waits, if there is one; else it
-- leaves its own there. So two of any levels are joined as soon as both are ready, and never more
-- than one waits. The one that was begun earlier is the first argument of join.
local function join_stream(makers, join, limit)
  local waiting
  map(makers, function(make, index)
    local mine = make()
    while mine and waiting do
      local other = waiting
      waiting = nil
      local first = math.min(index, other.index)
      if other.index < index then
        mine = join(other.candidate, mine)
      else
        mine = join(mine, other.candidate)
      end
      index = first
    end
    if mine then waiting = {candidate = mine, index = index} end
  end, limit)
  return waiting and waiting.candidate
end

-- reduce(makers, join, options) makes candidates and joins them, two at a time, until one is left.
-- makers: functions that return a candidate, or nil for none. join(a, b) returns one candidate.
-- options.schedule:
--   "level"   (default) when all are there, neighbours are joined, level by level: the widest
--             batches, and the same pairs whatever was ready first
--   "stream"  any two are joined as soon as they are ready: nothing waits for the slowest, but
--             which two meet depends on when they were ready
-- options.limit: branches at a time. Returns nil where no maker made one. Errors: another schedule.
function graph.reduce(makers, join, options)
  options = options or {}
  local schedule = options.schedule or "level"
  check(schedule == "level" or schedule == "stream", "reduce",
    "schedule " .. tostring(schedule) .. ': give "level" or "stream"')
  if schedule == "stream" then return join_stream(makers, join, options.limit) end
  local made = map(makers, function(make) return make() or false end, options.limit)
  local list = graph.select(made, function(candidate) return candidate end)
  return join_levels(list, join, options.limit)
end

return graph
