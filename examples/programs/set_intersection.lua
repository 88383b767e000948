-- The numbers that are in both of two sets: the second set is split, each part is compared with the
-- first set, and the findings are put together.
--
-- The set-intersection graph of Besta et al., "Graph of Thoughts" (AAAI 2024). Input:
--   first, second   lists of whole numbers
--   parts           into how many parts the second is split (4)
--   samples         answers for each part, of which the one with the fewest errors is kept (3)
--   model           as in Context.new
--
-- Result: {common, errors, calls, tokens, passes}. common: in rising order; errors: numbers that
-- were found but are not in both sets, or are there and were not found.

local graph = require("graph")
local inputs = require("inputs")

local SYSTEM = "You compare sets of numbers. Answer with the numbers that are in both sets, "
  .. "separated by commas, and nothing else. If there are none, answer: none."

local function numbers_of(text)
  local numbers = {}
  for number in text:gmatch("%d+") do numbers[#numbers + 1] = math.tointeger(tonumber(number)) end
  return numbers
end

local function set_of(list)
  local set = {}
  for _, number in ipairs(list) do set[number] = true end
  return set
end

-- Found but not in both sets, or in both and not found.
local function errors_of(found, first, second)
  local found_set, first_set, errors = set_of(found), set_of(first), 0
  local second_set = set_of(second)
  for number in pairs(found_set) do
    if not (first_set[number] and second_set[number]) then errors = errors + 1 end
  end
  for number in pairs(second_set) do
    if first_set[number] and not found_set[number] then errors = errors + 1 end
  end
  return errors
end

return function(input)
  local count = inputs.count(input.parts, "parts", 4)
  local samples = inputs.count(input.samples, "samples", 3)
  local first = table.concat(input.first, ", ")

  local base <close> = Context.new{model = input.model}
  base:system(SYSTEM)
  local options = {
    prompt = function(part) return "First set: " .. first .. "\nSecond set: " .. part end,
    count = samples,
    max_tokens = #first + 16,
    temperature = samples > 1 and 0.6 or 0,
  }

  local second = graph.candidate(table.concat(input.second, ", "))
  local parts = graph.split(second, function(text)
    local lists = {}
    for i, number in ipairs(numbers_of(text)) do
      local place = (i - 1) % count + 1
      lists[place] = lists[place] and lists[place] .. ", " .. number or tostring(number)
    end
    return lists
  end)
  local kept = map(parts, function(part)
    stage("intersect")
    local scored = graph.score(graph.generate(base, {part}, options), function(candidate)
      return -errors_of(numbers_of(candidate.text), input.first, numbers_of(part.text))
    end)
    return graph.keep_best(scored, 1)[1]
  end)

  -- The parts have no number in common, so putting the findings together needs no model.
  local common = numbers_of(table.concat(graph.texts(kept), ", "))
  table.sort(common)
  local used = usage()
  return {
    common = common,
    errors = errors_of(common, input.first, input.second),
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
