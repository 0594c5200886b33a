-- Read a small value, and be told of its next change. KEYS cell, watchers; ARGV the version that is known, 'channel:number',
-- and for how long to remember it, in ms. Version and value, or nothing.
-- The watchers are scored by when they are forgotten: others, who come later, keep none of them.
local cell = redis.call('HMGET', KEYS[1], 'version', 'value')
if (cell[1] or '0') == ARGV[1] and ARGV[2] then
  local time = redis.call('TIME')
  local now = math.floor(time[1] * 1000 + time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  redis.call('ZADD', KEYS[2], 'GT', now + ARGV[3], ARGV[2])
  -- Never shorter than another watcher asked for. A new set has no time to live, which is -1 here.
  if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
  end
end
return cell[1] and cell
