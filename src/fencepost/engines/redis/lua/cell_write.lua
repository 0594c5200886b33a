-- Change a small value if it has not been changed since it was seen. KEYS cell, watchers; ARGV version, and the value
-- unless it is to be emptied. The new version (0 once emptied), or nothing. Whoever watches is told, once.
local before = redis.call('HGET', KEYS[1], 'version') or '0'
if before ~= ARGV[1] then
  return false
end
local version = '0'
if ARGV[2] then
  local time = redis.call('TIME')
  -- As with tokens: following the clock, versions grow also where an earlier one is forgotten.
  version = string.format('%.0f', math.max(before + 1, time[1] * 1000000 + time[2]))
  redis.call('HSET', KEYS[1], 'version', version, 'value', ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
local watchers = redis.call('ZRANGE', KEYS[2], 0, -1)
redis.call('DEL', KEYS[2])
for _, watcher in ipairs(watchers) do
  local channel, number = string.match(watcher, '^([^:]*):(.*)$')
  redis.call('PUBLISH', channel, '=:' .. number .. ':')
end
return version
