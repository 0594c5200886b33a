-- Check a token and raise the mark; what follows runs in the same script. KEYS mark, …; ARGV token, …
-- Tokens are compared as text, by length first: Lua's numbers would round the largest. So a mark must be one, too.
do
  local token, mark = ARGV[1], redis.call('GET', KEYS[1]) or '0'
  if mark ~= '0' and (#mark > 19 or not string.find(mark, '^[1-9]%d*$')
      or (#mark == 19 and mark > '9223372036854775807')) then
    return redis.error_reply('FENCEPOST_NO_MARK')
  end
  if #token < #mark or (#token == #mark and token < mark) then
    return redis.error_reply('FENCEPOST_STALE ' .. mark)
  end
  if token ~= mark then
    redis.call('SET', KEYS[1], token)
  end
  table.remove(KEYS, 1)
  table.remove(ARGV, 1)
end
