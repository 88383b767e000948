-- Several proposals for one question, joined two at a time to one solution, which is then checked.
--
-- Input, all but the question optional:
--   question            what is asked
--   proposals           how many (8)
--   proposal_tokens     the most tokens of a proposal (256), or a list: one number for each
--   aggregation_tokens  the most tokens of a joined solution, and of the check (256)
--   temperature, top_p  how answers are sampled (0.6, 0.95)
--   schedule            "level" (default): all proposals, then all pairs, and so on; "stream": two
--                       solutions are joined as soon as both are there
--   check               whether the last solution is checked once more (true)
--   prompts             {system, proposal, aggregation, check}, texts with {question}, {a} and {b},
--                       {solution}
--   thinking, model     as in Context.new
--
-- Result: {answer, solutions, levels, calls, tokens, passes}. answer: a number, or what stands
-- behind "Answer:"; null where no solution gives one. solutions: every text by level (0: a
-- proposal), whether it was cut off (truncated), left out (dropped), and whether it is the check.
-- tokens: those that were sampled.
--
-- n proposals take 2n calls: n proposals, n-1 joins and the check. So 7 x 256 with 256 tokens for
-- the rest are at most 3,584 tokens.
--
-- A solution that was cut off is dropped where two others are left, since it has no answer and
-- misleads; where they are not, it is used and marked. A join that was cut off is dropped for the
-- first of its two solutions. Each join is asked in a new context that has the question and both
-- texts, and nothing of how they came about: neither is preferred, and contexts do not grow.

local answers = require("answers")
local graph = require("graph")
local inputs = require("inputs")

local PROMPTS = {
  system = "You solve problems step by step, briefly and carefully.",
  proposal = "{question}\n\nSolve it in a few short steps. "
    .. "End with a line that has only the result: Answer: <result>",
  aggregation = "{question}\n\nHere are two attempts.\n\nAttempt A:\n{a}\n\nAttempt B:\n{b}\n\n"
    .. "Either may be wrong. Solve the problem, using what is right in them, in a few short steps. "
    .. "End with a line that has only the result: Answer: <result>",
  check = "{question}\n\nA proposed solution:\n{solution}\n\n"
    .. "Check each step, and correct what is wrong. "
    .. "End with a line that has only the result: Answer: <result>",
}

-- The most tokens of each proposal.
local function budgets_of(input)
  local tokens = input.proposal_tokens
  if type(tokens) ~= "table" then
    tokens = {}
    for i = 1, inputs.count(input.proposals, "proposals", 8) do
      tokens[i] = input.proposal_tokens or 256
    end
  elseif input.proposals and input.proposals ~= #tokens then
    error("the input: proposals is " .. tostring(input.proposals) .. " and proposal_tokens has "
      .. #tokens .. " numbers: give one of them, or as many numbers as proposals", 0)
  end
  if #tokens < 2 then
    error("the input: of " .. #tokens .. " proposals nothing can be joined: give 2 or more", 0)
  end
  for _, budget in ipairs(tokens) do inputs.count(budget, "proposal_tokens") end
  return tokens
end

local function shown(candidate)
  return candidate.truncated and candidate.text .. " [cut off]" or candidate.text
end

-- By level and by proposal, whatever was ready first.
local function in_order(solutions)
  local place = {}
  for i, candidate in ipairs(solutions) do place[candidate] = i end
  table.sort(solutions, function(a, b)
    if a.level ~= b.level then return a.level < b.level end
    if a.number ~= b.number then return a.number < b.number end
    return place[a] < place[b]
  end)
  return solutions
end

return function(input)
  local question = inputs.text(input, "question")
  local budgets = budgets_of(input)
  local join_tokens = inputs.count(input.aggregation_tokens, "aggregation_tokens", 256)
  local prompts = inputs.prompts(input.prompts, PROMPTS)
  local schedule = inputs.choice(input.schedule, "schedule", {"level", "stream"})

  local function prompt_of(name, values)
    values.question = question
    return inputs.fill(prompts[name], values)
  end
  local function sampling(max_tokens, prompt)
    return {
      max_tokens = max_tokens,
      temperature = input.temperature or 0.6,
      top_p = input.top_p or 0.95,
      prompt = prompt and function() return prompt end,
    }
  end

  local base <close> = Context.new{model = input.model, thinking = input.thinking}
  base:system(prompts.system)

  local solutions, cut_off, whole = {}, {}, 0

  local function keep(candidate)
    solutions[#solutions + 1] = candidate
    return candidate
  end

  local function join(a, b)
    stage("aggregation")
    local prompt = prompt_of("aggregation", {a = shown(a), b = shown(b)})
    local joined = graph.aggregate(base, {a, b}, sampling(join_tokens, prompt))
    joined.number = a.number
    keep(joined)
    if joined.truncated and not a.truncated then
      joined.dropped = true
      return a
    end
    return joined
  end

  local function propose(asked, number)
    stage("proposal")
    local sampled = sampling(budgets[number])
    local proposal = keep(graph.generate(asked, {graph.candidate(question)}, sampled)[1])
    proposal.number = number
    if not proposal.truncated then
      whole = whole + 1
      return proposal
    end
    proposal.dropped = true
    cut_off[#cut_off + 1] = proposal
  end

  local solution
  do
    -- The proposals are forks of one question, which is computed once.
    local asked <close> = base:fork():user(prompt_of("proposal", {}))
    local makers = {}
    for i = 1, #budgets do
      makers[i] = function() return propose(asked, i) end
    end
    solution = graph.reduce(makers, join, {schedule = schedule})
  end
  if whole < 2 then
    table.sort(cut_off, function(a, b) return a.number < b.number end)
    local makers = {function() return solution end}
    for _, proposal in ipairs(cut_off) do
      proposal.dropped = false
      makers[#makers + 1] = function() return proposal end
    end
    solution = graph.reduce(makers, join)
  end

  local answer = answers.final(solution.text)
  if input.check ~= false then
    stage("check")
    local prompt = prompt_of("check", {solution = shown(solution)})
    local checked = graph.improve(base, {solution}, sampling(join_tokens, prompt))[1]
    answer = not checked.truncated and answers.final(checked.text) or answer
    checked.is_check = true
    checked.number = #budgets + 1
    keep(checked)
  end

  local listed = {}
  for i, candidate in ipairs(in_order(solutions)) do
    listed[i] = {
      text = candidate.text,
      level = candidate.level,
      truncated = candidate.truncated,
      dropped = candidate.dropped or false,
      check = candidate.is_check or false,
    }
  end
  local used = usage()
  return {
    answer = answer or json.null,
    solutions = listed,
    levels = solution.level,
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
