-- Adds many numbers: in groups of four, then the sums of groups, until one is left.
--
-- In the words that the demo model was trained with. Input:
--   numbers    a list of whole numbers
--   group      how many the model adds at once (4)
--   schedule   "level": sums are added in groups too, when all of a level are there; or "stream":
--              two at a time, as soon as both are ready
--
-- Result: {sum, levels, calls, tokens, passes}.

local graph = require("graph")
local inputs = require("inputs")

local ADD = 'Add the numbers. Answer as JSON: {"steps":[running sums],"sum":total}.'
local ANSWER = {
  type = "object",
  properties = {
    steps = {type = "array", items = {type = "integer"}},
    sum = {type = "integer"},
  },
  required = {"steps", "sum"},
  additionalProperties = false,
}

local function groups_of(list, size)
  local groups = {}
  for i, candidate in ipairs(list) do
    if i % size == 1 then groups[#groups + 1] = {} end
    local group = groups[#groups]
    group[#group + 1] = candidate
  end
  return groups
end

return function(input)
  local size = inputs.count(input.group, "group", 4)
  local schedule = inputs.choice(input.schedule, "schedule", {"level", "stream"})
  if size < 2 then error("the input: group is 1: give 2 or more", 0) end
  inputs.count(#input.numbers, "the number of numbers")

  local base <close> = Context.new():system(ADD)
  local options = {
    prompt = function(texts) return "Add: " .. table.concat(texts, " + ") end,
    parse = function(answer) return tostring(answer.value.sum) end,
    schema = ANSWER,
    max_tokens = 64,
    temperature = 0,
  }
  local list = {}
  for i, number in ipairs(input.numbers) do list[i] = graph.candidate(tostring(number)) end
  -- One that is left over goes on as it is.
  local function add(group)
    return #group > 1 and graph.aggregate(base, group, options) or group[1]
  end
  if schedule == "stream" then
    local makers = {}
    for i, group in ipairs(groups_of(list, size)) do
      makers[i] = function() return add(group) end
    end
    list = {graph.reduce(makers, function(a, b) return add({a, b}) end, {schedule = schedule})}
  end
  while #list > 1 do list = map(groups_of(list, size), add) end

  local used = usage()
  return {
    sum = math.tointeger(tonumber(list[1].text)),
    levels = list[1].level,
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
