local value = redis.call('GET', lock)
local left = redis.call('PTTL', lock)
if not value or string.sub(value, 1, #own) ~= own then
  -- Asked again because the answer was lost: then it is shared already.
  local held = redis.call('HGET', hold_of(lock), key)
  return held and string.match(held, '^%d+') == token and 1 or 0
end
redis.call('HSET', hold_of(lock), key, token .. ':s:' .. string.sub(value, #own + 1))
-- Not with the time that is left: of the last millisecond that is none, and the server would refuse it half-way.
redis.call('SET', lock, 'fp:*:s', 'KEEPTTL')
grow(hold_of(lock), left)
promote(lock)
send_news()
return 1
