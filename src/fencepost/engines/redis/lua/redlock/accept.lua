-- Take a token that another node proposed for a vote that this one gave: 1, or 0 if the vote is not with it any more.
-- From here on every vote of this node has a higher token. KEYS lock, hold, mark; ARGV 'id:serial', token
local own = 'fp:' .. ARGV[1] .. ':'
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #own) == own then
  redis.call('SET', KEYS[1], own .. ARGV[2] .. string.match(value, '^%d+(.*)$', #own + 1), 'KEEPTTL')
else
  local held = redis.call('HGET', KEYS[2], ARGV[1])
  if not held then
    return 0
  end
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. string.match(held, '^%d+(.*)$'))
end
if (redis.call('GET', KEYS[3]) or 0) + 0 < ARGV[2] + 0 then
  redis.call('SET', KEYS[3], ARGV[2])
end
return 1
