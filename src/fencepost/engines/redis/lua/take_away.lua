local lock = KEYS[1]
standing(lock)
local value = redis.call('GET', lock)
local taken = {}
if value and string.sub(value, 1, 5) ~= 'fp:*:' then
  taken[1] = value
else
  local fields = redis.call('HGETALL', hold_of(lock))
  for i = 1, #fields, 2 do
    taken[#taken + 1] = '#' .. fields[i] .. ':' .. fields[i + 1]
  end
end
redis.call('DEL', lock, hold_of(lock))
stood[lock] = nil
for _, text in ipairs(taken) do
  local id, token = string.match(text, '^fp:([^:]*):[^:]*:(%d+):')
  if not id then
    id, token = string.match(text, '^#([^:]*):[^:]*:(%d+):')
  end
  local at = string.format('%.0f', now())
  redis.call('LPUSH', KEYS[3], cjson.encode({ lock, token or '0', id or '', id and text or '', ARGV[1], at }))
end
redis.call('LTRIM', KEYS[3], 0, ARGV[2] - 1)
promote(lock)
send_news()
return taken
