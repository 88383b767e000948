-- Several answers to one question, of which the most frequent one wins.
--
-- After Wang et al., "Self-Consistency Improves Chain of Thought Reasoning" (ICLR 2023).
--
-- Input, all but the question optional:
--   question            what is asked
--   samples             how many answers (14)
--   max_tokens          the most tokens of each (256)
--   temperature, top_p  how they are sampled (0.6, 0.95)
--   prompts             {system, question}, texts; {question} stands for the question
--   thinking, model     as in Context.new
--
-- Result: {answer, votes, voters, samples, calls, tokens, passes}. An answer that was cut off has
-- no vote, nor has one without a number or a line "Answer: ..."; answer is null where none has one.
-- Of equally frequent answers the one that was sampled first wins. tokens: those that were sampled.

local answers = require("answers")
local graph = require("graph")
local inputs = require("inputs")

local PROMPTS = {
  system = "You solve problems step by step, briefly and carefully.",
  question = "{question}\n\nSolve it in a few short steps. "
    .. "End with a line that has only the result: Answer: <result>",
}

return function(input)
  local question = inputs.text(input, "question")
  local prompts = inputs.prompts(input.prompts, PROMPTS)
  local options = {
    count = inputs.count(input.samples, "samples", 14),
    max_tokens = inputs.count(input.max_tokens, "max_tokens", 256),
    temperature = input.temperature or 0.6,
    top_p = input.top_p or 0.95,
  }

  local asked <close> = Context.new{model = input.model, thinking = input.thinking}
  asked:system(prompts.system):user(inputs.fill(prompts.question, {question = question}))

  local samples, finals = {}, {}
  for i, candidate in ipairs(graph.generate(asked, {graph.candidate(question)}, options)) do
    finals[i] = not candidate.truncated and answers.final(candidate.text) or false
    samples[i] = {
      text = candidate.text,
      truncated = candidate.truncated,
      answer = finals[i] or json.null,
    }
  end

  local answer, votes, voters = answers.vote(finals)
  local used = usage()
  return {
    answer = answer or json.null,
    votes = votes,
    voters = voters,
    samples = samples,
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
