-- A long text, or a list of texts, in parts: each is asked about alone, and what was found is put
-- together to one answer.
--
-- Input, all but the question and the text optional:
--   question                   what is asked of the text
--   text, or parts             one text, which is split, or a list of texts
--   part_bytes                 the longest part of a text (8,000): it is split between paragraphs
--                              where it can be, else between lines or words
--   reduce                     "pairwise" (default): two findings at a time, so that no prompt
--                              grows with the text; "at_once": all of them in one prompt
--   limit                      questions that are asked at a time (32)
--   map_tokens, reduce_tokens  the most tokens of a finding (256), and of joined ones (512)
--   temperature                how answers are sampled (0)
--   prompts                    {system, map, join, all}, texts with {question}, {part}, {a} and
--                              {b}, {findings}
--   thinking, model            as in Context.new
--
-- Result: {answer, findings, calls, tokens, passes}. findings: what each part said.

local graph = require("graph")
local inputs = require("inputs")

local PROMPTS = {
  system = "You read documents carefully and say only what they say.",
  map = "Part of a document:\n\n{part}\n\nQuestion: {question}\n"
    .. "Say briefly what this part says about the question. If it says nothing, say: nothing.",
  join = "Question: {question}\n\nFindings from two parts of one document.\n\nFirst:\n{a}\n\n"
    .. "Second:\n{b}\n\nPut them together to one finding, briefly and without repetition.",
  all = "Question: {question}\n\nFindings from the parts of one document.\n\n{findings}\n\n"
    .. "Put them together to one answer, briefly and without repetition.",
}

-- Where a part that begins at `from` ends: behind the last paragraph, line or word of `bytes`.
local function end_of_part(text, from, bytes)
  local last = from + bytes - 1
  if last >= #text then return #text end
  local part = text:sub(from, last)
  for _, pattern in ipairs{"^.*\n\n", "^.*\n", "^.*%s"} do
    local _, stop = part:find(pattern)
    if stop then return from + stop - 1 end
  end
  -- No character is cut: the bytes 0x80 to 0xBF go on with one.
  while last > from and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xC0 do
    last = last - 1
  end
  return last
end

local function split(text, bytes)
  local parts, from = {}, 1
  while from <= #text do
    local to = end_of_part(text, from, bytes)
    local part = text:sub(from, to)
    if part:find("%S") then parts[#parts + 1] = part end
    from = to + 1
  end
  return parts
end

return function(input)
  local question = inputs.text(input, "question")
  local reduce = inputs.choice(input.reduce, "reduce", {"pairwise", "at_once"})
  local prompts = inputs.prompts(input.prompts, PROMPTS)
  local part_bytes = inputs.count(input.part_bytes, "part_bytes", 8000)
  local limit = inputs.count(input.limit, "limit", 32)
  local map_tokens = inputs.count(input.map_tokens, "map_tokens", 256)
  local reduce_tokens = inputs.count(input.reduce_tokens, "reduce_tokens", 512)
  local parts = input.parts or split(inputs.text(input, "text"), part_bytes)
  inputs.count(#parts, "the number of parts")

  local base <close> = Context.new{model = input.model, thinking = input.thinking}
  base:system(prompts.system)
  local function asking(name, values, max_tokens)
    values.question = question
    local prompt = inputs.fill(prompts[name], values)
    return {
      prompt = function() return prompt end,
      max_tokens = max_tokens,
      temperature = input.temperature or 0,
    }
  end
  local function find(part)
    stage("map")
    local options = asking("map", {part = part}, map_tokens)
    return graph.generate(base, {graph.candidate(part)}, options)[1]
  end
  local function join(a, b)
    stage("reduce")
    local options = asking("join", {a = a.text, b = b.text}, reduce_tokens)
    return graph.aggregate(base, {a, b}, options)
  end

  local findings = map(parts, find, limit)
  local last
  if reduce == "at_once" and #findings > 1 then
    stage("reduce")
    local values = {findings = table.concat(graph.texts(findings), "\n\n")}
    last = graph.aggregate(base, findings, asking("all", values, reduce_tokens))
  else
    local makers = {}
    for i, finding in ipairs(findings) do
      makers[i] = function() return finding end
    end
    last = graph.reduce(makers, join, {limit = limit})
  end

  local used = usage()
  return {
    answer = last.text,
    findings = graph.texts(findings),
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
