-- What programs check of their input before they ask a model anything, and templates of prompts.
--
--   local inputs = require("inputs")
--
-- Each function returns the value, or ends the program with an error that says what to give.

local inputs = {}

local function refuse(what) error("the input: " .. what, 0) end

-- text(input, name) returns input[name], a string that is not empty.
function inputs.text(input, name)
  local value = type(input) == "table" and input[name]
  if type(value) ~= "string" or value == "" then
    refuse("it has no " .. name .. ': give {"' .. name .. '": "..."}')
  end
  return value
end

-- count(value, name, default) returns the value, or the default where there is none: a whole
-- number of at least 1.
function inputs.count(value, name, default)
  if value == nil then value = default end
  if math.type(value) ~= "integer" or value < 1 then
    refuse(name .. " is " .. tostring(value) .. ": give a whole number of at least 1")
  end
  return value
end

-- choice(value, name, list) returns the value; the first of the list where there is none.
function inputs.choice(value, name, list)
  if value == nil then return list[1] end
  for _, allowed in ipairs(list) do
    if value == allowed then return value end
  end
  refuse(name .. " is " .. tostring(value) .. ": give " .. table.concat(list, " or "))
end

-- prompts(given, defaults) returns the defaults with the texts that are given in their place.
function inputs.prompts(given, defaults)
  local prompts, names = {}, {}
  for name, text in pairs(defaults) do
    prompts[name] = text
    names[#names + 1] = name
  end
  table.sort(names)
  for name, text in pairs(given or {}) do
    if not defaults[name] or type(text) ~= "string" then
      refuse("prompts." .. tostring(name) .. ": give texts for " .. table.concat(names, ", "))
    end
    prompts[name] = text
  end
  return prompts
end

-- fill(template, values) puts the values in the place of their names in braces: {question}. What
-- looks like a name within a value stays as it is.
function inputs.fill(template, values)
  return (template:gsub("{(%w+)}", values))
end

return inputs
