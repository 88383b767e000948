-- Several answers to one question, of which the one that is judged best is kept.
--
-- Input, all but the question optional:
--   question            what is asked
--   samples             how many answers (8)
--   judge               "likelihood" (default): the highest mean log-probability of a token, for
--                       which nothing more is sampled; "model": the model chooses one by its number
--   max_tokens          the most tokens of each answer (256)
--   temperature, top_p  how answers are sampled (0.8, 0.95)
--   prompts             {system, question, judge}, texts with {question} and {answers}
--   thinking, model     as in Context.new
--
-- Result: {answer, text, chosen, samples, calls, tokens, passes}. text: the answer that was chosen,
-- by its number; answer: what it ends in, a number or what stands behind "Answer:", null if there
-- is none. samples: all answers with their scores. Answers that were cut off are judged only where
-- there are no others. A model of a server elsewhere has no likelihoods: use the judge "model".

local answers = require("answers")
local graph = require("graph")
local inputs = require("inputs")

local PROMPTS = {
  system = "You solve problems step by step, briefly and carefully.",
  question = "{question}\n\nSolve it in a few short steps. "
    .. "End with a line that has only the result: Answer: <result>",
  judge = "{question}\n\nHere are answers to it.\n\n{answers}\n"
    .. "Which one is right? Answer with its number only.",
}

-- How likely each text is as the answer to what `asked` asks.
local function by_likelihood(asked, list)
  local ctx <close> = asked:fork():cue()
  local scores = ctx:score(graph.texts(list))
  return graph.score(list, function(_, i) return scores[i].mean end)
end

-- 1 for the one that the model chooses, 0 for the others.
local function by_model(base, list, prompt_for)
  local shown, numbers = {}, {}
  for i, candidate in ipairs(list) do
    numbers[i] = tostring(i)
    shown[i] = "Answer " .. i .. ":\n" .. candidate.text .. "\n"
  end
  local ctx <close> = base:fork():user(prompt_for(table.concat(shown, "\n")))
  local _, chosen = ctx:select(numbers)
  return graph.score(list, function(_, i) return i == chosen and 1 or 0 end)
end

return function(input)
  local question = inputs.text(input, "question")
  local judge = inputs.choice(input.judge, "judge", {"likelihood", "model"})
  local prompts = inputs.prompts(input.prompts, PROMPTS)
  local options = {
    count = inputs.count(input.samples, "samples", 8),
    max_tokens = inputs.count(input.max_tokens, "max_tokens", 256),
    temperature = input.temperature or 0.8,
    top_p = input.top_p or 0.95,
  }

  local base <close> = Context.new{model = input.model, thinking = input.thinking}
  base:system(prompts.system)
  local asked <close> = base:fork():user(inputs.fill(prompts.question, {question = question}))

  -- Known before anything is sampled, as a context's tokens are there only where its scores are.
  if judge == "likelihood" and not pcall(asked.tokens, asked) then
    error('judge "likelihood" needs score, which a model on a server elsewhere does not have; ' ..
          'give judge "model", or a model that Windrow runs itself', 0)
  end

  stage("sample")
  local list = graph.generate(asked, {graph.candidate(question)}, options)
  for i, candidate in ipairs(list) do candidate.number = i end
  local whole = graph.select(list, function(candidate) return not candidate.truncated end)
  local judged = #whole > 0 and whole or list

  stage("judge")
  if judge == "likelihood" then
    judged = by_likelihood(asked, judged)
  else
    judged = by_model(base, judged, function(shown)
      return inputs.fill(prompts.judge, {question = question, answers = shown})
    end)
  end
  local best = graph.keep_best(judged, 1)[1]

  local samples = {}
  for i, candidate in ipairs(list) do
    samples[i] = {text = candidate.text, truncated = candidate.truncated}
  end
  for _, candidate in ipairs(judged) do samples[candidate.number].score = candidate.score end
  local used = usage()
  return {
    answer = answers.final(best.text) or json.null,
    text = best.text,
    chosen = best.number,
    samples = samples,
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
