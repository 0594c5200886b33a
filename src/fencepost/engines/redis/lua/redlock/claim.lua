-- Claim one node's vote for one holder alone: claim.lua, but for what its token and its arrival are made of.
-- KEYS lock, queue, lease, mark; ARGV 'fp:id:serial:', ':tail', ttl in ms, channel, wait, open, epoch
-- See step.lua for how the token is made.
local state = redis.call('MGET', KEYS[1], KEYS[3], KEYS[4])
local timely = state[2] == ARGV[7]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local S = string.sub(KEYS[4], 1, -5)
-- Those who share it hold it still where somebody has deleted the lock key alone.
if not state[1] and timely and redis.call('EXISTS', KEYS[2], S .. 'hold\0' .. KEYS[1]) == 0 then
  local step = math.ceil(now / 100000) * 100000
  local token = (state[3] or now + 200000) + 1
  local next = state[3] and token >= step
  token = token >= step and token or step
  local text = string.format('%.0f', token)
  -- NX, because MGET takes a key of another type for none, and SET would replace it.
  if not redis.call('SET', KEYS[1], ARGV[1] .. text .. ARGV[2], 'NX', 'PX', ARGV[3]) then
    return redis.error_reply('WRONGTYPE the key holds something that is no lock')
  end
  if next then
    redis.call('INCR', KEYS[4])
  else
    redis.call('SET', KEYS[4], text)
  end
  return token
end
if not state[3] then
  redis.call('SET', KEYS[4], string.format('%.0f', now + 200000))
end
local me = string.sub(ARGV[1], 4) .. ARGV[3] .. ':' .. ARGV[4] .. ':x' .. ARGV[2]
local value = state[1]
if value and timely and ARGV[5] == '1' and string.sub(value, 1, 3) == 'fp:' and string.sub(value, 4, 4) ~= '*'
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
local lock, wait, open, lead, epoch, list = KEYS[1], ARGV[5] == '1', ARGV[6] == '1', 0, ARGV[7], nil
