-- Sorts digits: the list is split, its parts are sorted, and merged two at a time.
--
-- The sorting graph of Besta et al., "Graph of Thoughts" (AAAI 2024), in the words that the demo
-- model was trained with. Input:
--   digits     a list of digits
--   part       how many the model sorts at once (8)
--   samples    answers to each question, of which the one with the fewest errors is kept (1)
--   schedule   "level" or "stream"
--
-- Result: {sorted, errors, calls, tokens, passes}. errors: 0 where it is right.

local graph = require("graph")
local inputs = require("inputs")

local SORT = "Sort the digits. Answer with all of them, smallest first, separated by spaces."
local MERGE = "Merge two sorted lists of digits into one sorted list. Answer with all digits, "
  .. "smallest first, separated by spaces."

local function digits_of(text)
  local digits = {}
  for digit in text:gmatch("%d+") do digits[#digits + 1] = math.tointeger(tonumber(digit)) end
  return digits
end

local function parts_of(text, size)
  local digits, parts = digits_of(text), {}
  for from = 1, #digits, size do
    parts[#parts + 1] = table.concat(digits, " ", from, math.min(from + size - 1, #digits))
  end
  return parts
end

-- Digits that are missing, too many, or in front of a smaller one. It needs no reference: what the
-- answer was made of says which digits it has to have.
local function errors_of(answer, sources)
  local missing, errors = {}, 0
  for _, digit in ipairs(digits_of(table.concat(graph.texts(sources), " "))) do
    missing[digit] = (missing[digit] or 0) + 1
  end
  local digits = digits_of(answer)
  for i, digit in ipairs(digits) do
    missing[digit] = (missing[digit] or 0) - 1
    if i > 1 and digit < digits[i - 1] then errors = errors + 1 end
  end
  for _, count in pairs(missing) do errors = errors + math.abs(count) end
  return errors
end

local function best_of(list)
  local scored = graph.score(list, function(candidate)
    return -errors_of(candidate.text, candidate.from)
  end)
  return graph.keep_best(scored, 1)[1]
end

return function(input)
  local part = inputs.count(input.part, "part", 8)
  local samples = inputs.count(input.samples, "samples", 1)
  local whole = graph.candidate(table.concat(input.digits, " "))

  local sorter <close> = Context.new():system(SORT)
  local merger <close> = Context.new():system(MERGE)
  local function options_for(text, prompt)
    return {
      prompt = prompt,
      count = samples,
      max_tokens = #digits_of(text) * 2 + 8,
      temperature = samples > 1 and 0.6 or 0,
    }
  end

  local makers = {}
  for i, unsorted in ipairs(graph.split(whole, function(text) return parts_of(text, part) end)) do
    makers[i] = function()
      stage("sort")
      local options = options_for(unsorted.text, function(text) return "Sort: " .. text end)
      return best_of(graph.generate(sorter, {unsorted}, options))
    end
  end
  local sorted = graph.reduce(makers, function(a, b)
    stage("merge")
    local options = options_for(a.text .. " " .. b.text, function(texts)
      return "Merge:\nA: " .. texts[1] .. "\nB: " .. texts[2]
    end)
    local same = {}
    for i = 1, samples do same[i] = {a, b} end
    return best_of(map(same, function(two) return graph.aggregate(merger, two, options) end))
  end, {schedule = inputs.choice(input.schedule, "schedule", {"level", "stream"})})

  local used = usage()
  return {
    sorted = sorted.text,
    errors = errors_of(sorted.text, {whole}),
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
