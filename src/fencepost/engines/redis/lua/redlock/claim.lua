-- Claim one node's vote for one holder alone: claim.lua, but for what its token and its arrival are made of.
-- KEYS lock, queue, lease, mark; ARGV 'fp:id:serial:', ':tail', ttl in ms, channel, wait, open
-- See step.lua for how the token is made.
-- One question, since each call costs more than what it does: a key counts as often as it is named, so 3 is a lease that
-- is known, and neither a lock nor a queue.
local met = redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[3], KEYS[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if met == 3 then
  local token = redis.call('INCR', KEYS[4])
  local step = math.ceil(now / 100000) * 100000
  if token == 1 then
    step = now + 200001
  end
  if token < step then
    token = step
    redis.call('SET', KEYS[4], string.format('%.0f', token))
  end
  redis.call('SET', KEYS[1], ARGV[1] .. string.format('%.0f', token) .. ARGV[2], 'PX', ARGV[3])
  return token
end
local state = redis.call('MGET', KEYS[1], KEYS[3], KEYS[4])
if not state[3] then
  redis.call('SET', KEYS[4], string.format('%.0f', now + 200000))
end
local S = string.sub(KEYS[4], 1, -5)
local me = string.sub(ARGV[1], 4) .. ARGV[3] .. ':' .. ARGV[4] .. ':x' .. ARGV[2]
local value = state[1]
if value and state[2] and ARGV[5] == '1' and string.sub(value, 1, 3) == 'fp:' and string.sub(value, 4, 4) ~= '*'
  and string.sub(value, 1, #ARGV[1]) ~= ARGV[1] then
  -- Not from the mark: whoever comes to one node before a release and to another after it must not part their tokens.
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  if redis.call('ZADD', KEYS[2], 'NX', math.max(now, (last[2] or 0) + 1), me) == 1 then
    local rank = redis.call('ZRANK', KEYS[2], me)
    if rank == 0 then
      redis.call('PEXPIRE', KEYS[2], ARGV[3])
      return { 0, redis.call('PTTL', KEYS[1]), 0, KEYS[1], 'x', value }
    end
    redis.call('PEXPIRE', KEYS[2], ARGV[3], 'GT')
    local before = redis.call('ZRANGE', KEYS[2], rank - 1, rank - 1)[1]
    local left = redis.call('PTTL', S .. 'lease\0' .. string.match(before, '^[^:]*'))
    return { 0, math.max(0, left), 0, KEYS[1], 'w', before }
  end
end
local lock, wait, open, lead = KEYS[1], ARGV[5] == '1', ARGV[6] == '1', 0
