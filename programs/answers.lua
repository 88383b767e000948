-- Final answers in the texts of models, and votes on them.
--
--   local answers = require("answers")
--
-- An answer is a string, so that "0.10" and 0.1 are compared by normalise() and by nothing else.

local answers = {}

local function trim(text) return text:match("^%s*(.-)%s*$") end

-- A number as it is written in one way only: no commas, no $, no plus, no zeros that mean nothing.
local function plain_number(sign, digits)
  local whole, fraction = digits:gsub(",", ""):match("^(%d*)%.?(%d*)$")
  whole = whole:gsub("^0+(%d)", "%1")
  fraction = fraction:gsub("0+$", "")
  local number = (whole == "" and "0" or whole) .. (fraction ~= "" and "." .. fraction or "")
  return sign == "-" and number ~= "0" and "-" .. number or number
end

-- number(text) returns the last number in it, without commas and $, as a string; nil: there is
-- none. A minus counts where no letter or digit stands before it.
function answers.number(text)
  local last
  text = "  " .. text
  for place, digits in text:gmatch("()%$?(%d[%d,]*%.?%d*)") do
    local negative = text:sub(place - 2, place - 1):match("^%W%-$")
    last = plain_number(negative and "-" or "", digits)
  end
  return last
end

-- marked(text) returns what stands behind the last "####" or "Answer:", up to the end of its line;
-- nil: there is neither. Emphasis (**) around it is left out.
function answers.marked(text)
  local last
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local found = line:match("####(.*)$") or line:match("[Aa][Nn][Ss][Ww][Ee][Rr]%W*:(.*)$")
    found = found and trim((found:gsub("%*%*", "")))
    if found and found ~= "" then last = found end
  end
  return last
end

-- final(text) returns the answer that a text gives: the number on a marked line, or what else
-- stands there; without a marked line the last number. nil: there is none.
function answers.final(text)
  local marked = answers.marked(text)
  if marked then return answers.number(marked) or answers.normalise(marked) end
  return answers.number(text)
end

-- normalise(text) returns it as it is compared: numbers as number() writes them, else in small
-- letters, with single spaces and without a full stop at the end.
function answers.normalise(text)
  local plain = trim(text):gsub("%s+", " "):gsub("%.$", "")
  local sign, digits = plain:match("^([-+]?)%$?(%d[%d,]*%.?%d*)$")
  if digits then return plain_number(sign, digits) end
  return plain:lower()
end

-- same(a, b) returns whether two answers say the same.
function answers.same(a, b)
  return answers.normalise(a) == answers.normalise(b)
end

-- vote(list, n) returns the answer that most of the first n entries (default: all of the list)
-- give, how many give it, and how many voted. nil and false do not vote: pass n where a list may
-- have nil. Of equally many the one that was seen first wins. nil, 0, 0: no votes.
function answers.vote(list, n)
  local counts, order, voters = {}, {}, 0
  for i = 1, n or #list do
    if list[i] then
      local answer = answers.normalise(list[i])
      if not counts[answer] then order[#order + 1] = answer end
      counts[answer] = (counts[answer] or 0) + 1
      voters = voters + 1
    end
  end
  local winner
  for _, answer in ipairs(order) do
    if not winner or counts[answer] > counts[winner] then winner = answer end
  end
  return winner, winner and counts[winner] or 0, voters
end

return answers
