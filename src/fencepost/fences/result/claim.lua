-- Behind the check: remember the mark for so long, or longer if it was to be. What is for ever stays so.
if kept_for ~= -1 then
  redis.call('PEXPIRE', mark_key, string.format('%.0f', math.max(kept_for, tonumber(ARGV[1]))))
end
return redis.call('GET', KEYS[1])
