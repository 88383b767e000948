-- Asks one question input.candidates times, and answers with one of the answers:
--
--   vote        the most frequent one; of input.number the number in it. One candidate: asked directly
--   best_of_n   the one with the fewest errors, counted as examples/programs/sorting.lua counts them:
--               digits of input.digits that are missing, too many, or in front of a smaller one

local answers = require("answers")
local graph = require("graph")

local function errors_of(text, digits)
  local missing, errors, last = {}, 0, -1
  for _, digit in ipairs(digits) do missing[digit] = (missing[digit] or 0) + 1 end
  for number in text:gmatch("%d+") do
    local digit = math.tointeger(tonumber(number))
    missing[digit] = (missing[digit] or 0) - 1
    if digit < last then errors = errors + 1 end
    last = digit
  end
  for _, count in pairs(missing) do errors = errors + math.abs(count) end
  return errors
end

return function(input)
  local asked <close> = Context.new():system(input.system):user(input.question)
  local list = graph.generate(asked, {graph.candidate(input.question)}, {
    count = input.candidates,
    max_tokens = input.max_tokens,
    temperature = input.candidates > 1 and 0.6 or 0,
  })
  if input.method == "best_of_n" then
    local scored = graph.score(list, function(one) return -errors_of(one.text, input.digits) end)
    return {answer = graph.keep_best(scored, 1)[1].text}
  end
  local texts = graph.texts(list)
  if input.number then
    for i, text in ipairs(texts) do texts[i] = answers.number(text) or false end
  end
  return {answer = answers.vote(texts) or json.null}
end
