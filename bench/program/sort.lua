-- Sorts input.list, digits, by input.method:
--
--   direct            the whole list at once
--   self_consistency  input.candidates times at once; the most frequent answer
--   best_of_n         input.candidates times at once; the one with the fewest errors
--   level, stream     graph of thought: parts of input.part digits are sorted, then merged pairwise,
--                     each input.candidates times, of which the one with the fewest errors stays.
--                     `level`: a merge begins when all of the level before are there; `stream`: when
--                     its two lists are
--
-- Errors are counted without knowing the sorted list: digits that are too many or too few, and
-- neighbours in the wrong order.

local SORT = "Sort the digits. Answer with all of them, smallest first, separated by spaces."
local MERGE = "Merge two sorted lists of digits into one sorted list. Answer with all digits, "
  .. "smallest first, separated by spaces."

local function digits_of(text)
  local digits = {}
  for digit in text:gmatch("%d") do digits[#digits + 1] = tonumber(digit) end
  return digits
end

local function errors_of(digits, wanted)
  local balance = {}
  for d = 0, 9 do balance[d] = 0 end
  for _, d in ipairs(wanted) do balance[d] = balance[d] + 1 end
  for _, d in ipairs(digits) do balance[d] = balance[d] - 1 end
  local errors = 0
  for d = 0, 9 do errors = errors + math.abs(balance[d]) end
  for i = 2, #digits do
    if digits[i - 1] > digits[i] then errors = errors + 1 end
  end
  return errors
end

local function concatenated(a, b)
  local all = {}
  for _, d in ipairs(a) do all[#all + 1] = d end
  for _, d in ipairs(b) do all[#all + 1] = d end
  return all
end

return function(input)
  local sampling = {temperature = input.temperature, top_p = input.top_p}

  -- `count` answers to one question, as lists.
  local function asked(system, question, length, count)
    local ctx <close> = Context.new()
    ctx:system(system):user(question)
    return map(ctx:fork(count), function(branch)
      local answer = branch:generate{max_tokens = 2 * length + 8,
        temperature = sampling.temperature, top_p = sampling.top_p}
      branch:release()
      return digits_of(answer.text)
    end)
  end

  local function best(candidates, wanted)
    local chosen, fewest
    for _, digits in ipairs(candidates) do
      local errors = errors_of(digits, wanted)
      if not fewest or errors < fewest then chosen, fewest = digits, errors end
    end
    return chosen
  end

  local function sorted(part)
    local question = "Sort: " .. table.concat(part, " ")
    return {list = best(asked(SORT, question, #part, input.candidates), part), wanted = part}
  end

  local function merged(a, b)
    local wanted = concatenated(a.wanted, b.wanted)
    local question = "Merge:\nA: " .. table.concat(a.list, " ") .. "\nB: "
      .. table.concat(b.list, " ")
    return {list = best(asked(MERGE, question, #wanted, input.candidates), wanted), wanted = wanted}
  end

  local function parts()
    local all = {}
    for at = 1, #input.list, input.part do
      all[#all + 1] = table.move(input.list, at, math.min(at + input.part - 1, #input.list), 1, {})
    end
    return all
  end

  local methods = {}

  function methods.direct()
    return asked(SORT, "Sort: " .. table.concat(input.list, " "), #input.list, 1)[1]
  end

  function methods.self_consistency()
    local votes, winner = {}, nil
    local question = "Sort: " .. table.concat(input.list, " ")
    for _, digits in ipairs(asked(SORT, question, #input.list, input.candidates)) do
      local text = table.concat(digits)
      votes[text] = (votes[text] or 0) + 1
      if not winner or votes[text] > votes[winner] then winner = text end
    end
    return digits_of(winner)
  end

  function methods.best_of_n()
    return sorted(input.list).list
  end

  function methods.level()
    local level = map(parts(), sorted)
    while #level > 1 do
      local pairs_of = {}
      for i = 1, #level, 2 do pairs_of[#pairs_of + 1] = {level[i], level[i + 1]} end
      level = map(pairs_of, function(pair)
        return pair[2] and merged(pair[1], pair[2]) or pair[1]
      end)
    end
    return level[1].list
  end

  -- Lists of the same number of parts are merged, in the order in which they are there; in the end
  -- what is left over, the smaller ones first.
  function methods.stream()
    local waiting = {}
    map(parts(), function(part)
      local item, size = sorted(part), 1
      while waiting[size] do
        local other = waiting[size]
        waiting[size] = nil
        item, size = merged(other, item), 2 * size
      end
      waiting[size] = item
    end)
    local size, result = 1, nil
    while next(waiting) do
      local item = waiting[size]
      waiting[size] = nil
      if item then result = result and merged(item, result) or item end
      size = 2 * size
    end
    return result.list
  end

  return {answer = methods[input.method]()}
end
