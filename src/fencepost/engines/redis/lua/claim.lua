-- Claim one name for one holder alone: granted in this one call if the name is free and nobody waits.
-- The token; or below 0 for a place in the queue, with the ms after which to look again: -1 - ms; else see enter.lua.
-- KEYS lock, queue, lease, mark, index; ARGV 'fp:id:serial:', ':tail', ttl in ms, channel, wait, open, epoch
-- The two frequent cases come first, without a function made or a table built: free, and held while we may wait.
local state = redis.call('MGET', KEYS[1], KEYS[3], KEYS[4])
local timely = state[2] == ARGV[7]
local S = string.sub(KEYS[4], 1, -5)
-- Those who share it hold it still where somebody has deleted the lock key alone.
if not state[1] and (timely or (not state[2] and ARGV[6] == '1'))
  and redis.call('EXISTS', KEYS[2], S .. 'hold\0' .. KEYS[1]) == 0 then
  local time = redis.call('TIME')
  local token = time[1] * 1000000 + time[2]
  local expires = token / 1000 + ARGV[3]
  -- Following the clock keeps tokens growing when the mark is lost, following the mark when the clock goes back.
  if state[3] and token <= state[3] + 0 then
    token = state[3] + 1
  end
  local text = string.format('%.0f', token)
  -- NX, because MGET takes a key of another type for none, and SET would replace it.
  if not redis.call('SET', KEYS[1], ARGV[1] .. text .. ARGV[2], 'NX', 'PX', ARGV[3]) then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  end
  if ARGV[6] == '1' then
    redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[3])
  end
  redis.call('SET', KEYS[4], text)
  redis.call('ZADD', KEYS[5], expires, KEYS[1])
  return token
end
local me = string.sub(ARGV[1], 4) .. ARGV[3] .. ':' .. ARGV[4] .. ':x' .. ARGV[2]
local value = state[1]
if value and timely and ARGV[5] == '1' and string.sub(value, 1, 3) == 'fp:' and string.sub(value, 4, 4) ~= '*'
  and string.sub(value, 1, #ARGV[1]) ~= ARGV[1] then
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  local time = redis.call('TIME')
  local arrival = time[1] * 1000000 + time[2]
  -- Behind whoever came last, also when the clock was set back since; but not behind one of a lower priority.
  local early = last[1] and last[2] - arrival or -1
  if early >= 0 then
    arrival = last[2] + 1
  end
  if early < 2 ^ 44 and redis.call('ZADD', KEYS[2], 'NX', arrival, me) == 1 then
    if not last[1] then
      redis.call('PEXPIRE', KEYS[2], ARGV[3])
      return -1 - math.max(0, redis.call('PTTL', KEYS[1]))
    end
    redis.call('PEXPIRE', KEYS[2], ARGV[3], 'GT')
    return -1 - math.max(0, redis.call('PTTL', S .. 'lease\0' .. string.match(last[1], '^[^:]*')))
  end
end
local lock, wait, open, lead, epoch, list = KEYS[1], ARGV[5] == '1', ARGV[6] == '1', 0, ARGV[7], nil
