-- Check a token and raise the mark; what follows runs in the same script. KEYS mark, …; ARGV token, …
-- Tokens are compared as text, by length first: Lua's numbers would round the largest.
do
  local token, mark = ARGV[1], redis.call('GET', KEYS[1]) or '0'
  if #token < #mark or (#token == #mark and token < mark) then
    return redis.error_reply('FENCEPOST_STALE ' .. mark)
  end
  if token ~= mark then
    redis.call('SET', KEYS[1], token)
  end
  table.remove(KEYS, 1)
  table.remove(ARGV, 1)
end
