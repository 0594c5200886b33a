local lock, own = KEYS[1], ARGV[1]
local key = string.match(own, '^fp:([^:]*:[^:]*):')
local value = redis.call('GET', lock)
if not value or string.sub(value, 1, #own) ~= own then
  -- Asked again because the answer was lost: then it is shared already.
  return redis.call('HEXISTS', hold_of(lock), key)
end
local left = redis.call('PTTL', lock)
local token, tail = string.match(value, '^(%d+):(.*)$', #own + 1)
redis.call('HSET', hold_of(lock), key, token .. ':s:' .. tail)
-- Not with the time that is left: of the last millisecond that is none, and the server would refuse it half-way.
redis.call('SET', lock, 'fp:*:s', 'KEEPTTL')
grow(hold_of(lock), left)
promote(lock)
send_news()
return 1
