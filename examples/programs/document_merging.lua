-- Merges documents to one that says what they say, without repetition.
--
-- The document-merging graph of Besta et al., "Graph of Thoughts" (AAAI 2024): several drafts are
-- rated by the model; the best are merged, improved and rated again. Input:
--   documents    a list of texts
--   drafts       how many first drafts (5)
--   keep         how many of them are merged (3)
--   max_tokens   the most tokens of a draft (512)
--   model        as in Context.new
--
-- Result: {text, score, calls, tokens, passes}. score: 0 to 10.

local graph = require("graph")
local inputs = require("inputs")

local SYSTEM = "You edit documents. Answer with the document only."
local MARKS = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}

-- One mark of the model's, from 0 to 10.
local function mark(base, question, text)
  local ctx <close> = base:fork()
  local chosen = ctx:user(question .. "\n\n" .. text):select(MARKS)
  return tonumber(chosen)
end

return function(input)
  inputs.count(#input.documents, "the number of documents")
  local max_tokens = inputs.count(input.max_tokens, "max_tokens", 512)
  local drafts = inputs.count(input.drafts, "drafts", 5)
  local keep = inputs.count(input.keep, "keep", 3)
  local documents = table.concat(input.documents, "\n\n---\n\n")

  local editor <close> = Context.new{model = input.model}
  editor:system(SYSTEM)
  local judge <close> = Context.new{model = input.model}
  judge:system("You rate documents. Answer with a whole number from 0 to 10 only.")

  -- The harmonic mean of two marks: a draft has to be good at both.
  local function rate(candidate)
    local texts = "Documents:\n\n" .. documents .. "\n\n===\n\nMerged:\n\n" .. candidate.text
    local marks = all{
      function() return mark(judge, "How much of the documents is kept? 10: all of it.", texts) end,
      function() return mark(judge, "How free is it of repetition? 10: entirely.", texts) end,
    }
    if marks[1] + marks[2] == 0 then return 0 end
    return 2 * marks[1] * marks[2] / (marks[1] + marks[2])
  end
  local function asking(prompt, count)
    return {prompt = prompt, count = count, max_tokens = max_tokens, temperature = 0.8}
  end

  stage("draft")
  local list = graph.generate(editor, {graph.candidate(documents)}, asking(function(text)
    return "Merge these documents to one, without repetition and without losing anything.\n\n"
      .. text
  end, drafts))
  stage("rate")
  local best = graph.keep_best(graph.score(list, rate), keep)

  stage("merge")
  local merged = graph.aggregate(editor, best, asking(function(texts)
    return "These are drafts of one document. Put the best of them together.\n\n"
      .. table.concat(texts, "\n\n---\n\n")
  end))
  local improved = graph.improve(editor, {merged}, asking(function(text)
    return "Improve this document: keep everything it says, and remove repetition.\n\n" .. text
  end))
  stage("rate")
  table.insert(improved, merged)
  local final = graph.score(improved, rate)
  for _, candidate in ipairs(best) do final[#final + 1] = candidate end
  local chosen = graph.keep_best(final, 1)[1]

  local used = usage()
  return {
    text = chosen.text,
    score = chosen.score,
    calls = used.calls,
    tokens = used.completion_tokens,
    passes = used.passes,
  }
end
