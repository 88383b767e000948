-- Adds input.numbers by input.method:
--
--   direct            all at once
--   self_consistency  input.candidates times at once; the most frequent sum
--   level, stream     graph of thought: input.part numbers at a time, each input.candidates times,
--                     the most frequent sum stays; then the sums likewise, up to one. `level`: when
--                     all sums of the level before are there; `stream`: when input.part of them are

local ADD = 'Add the numbers. Answer as JSON: {"steps":[running sums],"sum":total}.'

return function(input)
  -- Sums that the model gives for these numbers; 0 stands for an answer without one.
  local function asked(numbers, count)
    local ctx <close> = Context.new()
    ctx:system(ADD):user("Add: " .. table.concat(numbers, " + "))
    return map(ctx:fork(count), function(branch)
      local answer = branch:generate{max_tokens = 8 * #numbers + 24,
        temperature = input.temperature, top_p = input.top_p}
      branch:release()
      return math.tointeger(tonumber(answer.text:match('"sum":(%-?%d+)'))) or 0
    end)
  end

  local function most_frequent(sums)
    local votes, winner = {}, nil
    for _, sum in ipairs(sums) do
      votes[sum] = (votes[sum] or 0) + 1
      if not winner or votes[sum] > votes[winner] then winner = sum end
    end
    return winner
  end

  local function added(numbers)
    if #numbers == 1 then return numbers[1] end
    return most_frequent(asked(numbers, input.candidates))
  end

  local function parts(numbers)
    local all = {}
    for at = 1, #numbers, input.part do
      all[#all + 1] = table.move(numbers, at, math.min(at + input.part - 1, #numbers), 1, {})
    end
    return all
  end

  local methods = {}

  function methods.direct()
    return asked(input.numbers, 1)[1]
  end

  function methods.self_consistency()
    return added(input.numbers)
  end

  function methods.level()
    local numbers = input.numbers
    repeat numbers = map(parts(numbers), added) until #numbers == 1
    return numbers[1]
  end

  function methods.stream()
    local waiting = {}
    map(parts(input.numbers), function(part)
      local sum = added(part)
      waiting[#waiting + 1] = sum
      while #waiting >= input.part do
        local taken = waiting
        waiting = {}
        sum = added(taken)
        waiting[#waiting + 1] = sum
      end
    end)
    return added(waiting)
  end

  return {answer = methods[input.method]()}
end
