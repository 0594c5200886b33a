-- Behind the check: keep the result, and its mark for longer. ARGV value, how long, how long the mark; none: for ever
if ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('PEXPIRE', mark_key, ARGV[3])
else
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('PERSIST', mark_key)
end
