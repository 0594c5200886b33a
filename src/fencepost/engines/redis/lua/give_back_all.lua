local done = {}
for i = 2, #KEYS do
  local key, token = string.match(ARGV[i - 1], '^fp:([^:]*:[^:]*):([^:]*):')
  done[i - 1] = let_go(KEYS[i], key, token)
end
for i = 2, #KEYS do
  promote(KEYS[i])
  if redis.call('EXISTS', KEYS[i], queue_of(KEYS[i])) == 0 then
    redis.call('ZREM', KEYS[1], KEYS[i])
  end
end
send_news()
return done
