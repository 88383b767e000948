-- One call and nothing else: what a row of `windrow run` asks for.
return function(input)
  local ctx <close> = Context.new()
  ctx:system(input.system):user(input.user)
  return ctx:generate{max_tokens = input.max_tokens, temperature = 0}.text
end
