-- How often each country is named in a text: counted sentence by sentence, checked, and added up.
--
-- The keyword-counting graph of Besta et al., "Graph of Thoughts" (AAAI 2024). Input:
--   text        the text
--   sentences   how many are counted at once (2)
--   tries       how often counts that cannot be right are asked for again (1)
--   model       as in Context.new
--
-- Result: {counts, valid, calls, tokens, passes}. valid: no part has a word that is not in it.

local graph = require("graph")
local inputs = require("inputs")

local SYSTEM = "You count how often countries are named. Answer with a JSON object: each country "
  .. "that is named, as it is written in the text, with its number."
local COUNTS = {type = "object", additionalProperties = {type = "integer"}}

local function parts_of(text, sentences)
  local parts, count = {}, 0
  for sentence in (text .. " "):gmatch("%s*(.-[.!?])%s") do
    if count % sentences == 0 then
      parts[#parts + 1] = sentence
    else
      parts[#parts] = parts[#parts] .. " " .. sentence
    end
    count = count + 1
  end
  return parts
end

local function occurrences(text, word)
  local count, from = 0, 1
  while true do
    local first, last = text:find(word, from, true)
    if not first then return count end
    count, from = count + 1, last + 1
  end
end

-- What can be seen without a model: a word has to be in the text as often as it was counted.
local function check(candidate)
  local ok, counts = pcall(json.decode, candidate.text)
  if not ok then return false, "it is not JSON" end
  for word, count in pairs(counts) do
    local seen = word ~= "" and occurrences(candidate.part.text, word) or 0
    if seen ~= count then
      return false, '"' .. word .. '" was counted ' .. count .. " times and is there " .. seen
    end
  end
  return true
end

return function(input)
  local text = inputs.text(input, "text")
  local sentences = inputs.count(input.sentences, "sentences", 2)
  local tries = inputs.count(input.tries, "tries", 1)

  local base <close> = Context.new{model = input.model}
  base:system(SYSTEM)
  local function options_for(note)
    return {
      prompt = function(part) return part .. note end,
      schema = COUNTS,
      max_tokens = 256,
      temperature = 0,
    }
  end
  local function count(part, note)
    local counted = graph.generate(base, {part}, options_for(note))[1]
    counted.part = part
    return counted
  end

  stage("count")
  local parts = graph.split(graph.candidate(text), function(all)
    return parts_of(all, sentences)
  end)
  local counted = map(parts, function(part) return count(part, "") end)
  stage("check")
  local checked = graph.validate(counted, check, function(wrong, problem)
    return count(wrong.part, "\n\nAn earlier count was wrong: " .. problem .. ". Count again.")
  end, tries)

  -- Adding up needs no model.
  local counts = json.object()
  local valid = graph.select(checked, function(candidate) return candidate.valid end)
  for _, candidate in ipairs(valid) do
    for word, number in pairs(json.decode(candidate.text)) do
      counts[word] = (counts[word] or 0) + number
    end
  end
  local used = usage()
  return {
    counts = counts,
    valid = #valid == #checked,
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
