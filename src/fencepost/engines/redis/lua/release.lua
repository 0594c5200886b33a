-- Give back exactly one claim: 1, or 0 if it was not held any more. Whoever waits first holds from here on.
-- KEYS lock, queue, index; ARGV 'fp:id:serial:token:'
-- The two frequent cases come first, without a function made: nobody waits, and the first waits to hold it alone.
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) == ARGV[1] then
  local first = redis.call('ZPOPMIN', KEYS[2])
  if not first[1] then
    redis.call('DEL', KEYS[1])
    redis.call('ZREM', KEYS[3], KEYS[1])
    return 1
  end
  local shard = string.sub(KEYS[3], 1, -6)
  local id, serial, ttl, channel, nonce, tail =
    string.match(first[1], '^([^:]*):([^:]*):([^:]*):([^:,]*),?([^:]*):x:(.*)$')
  local state = id and redis.call('MGET', shard .. 'lease\0' .. id, shard .. 'mark')
  if id and state[1] then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local token = string.format('%.0f', math.max(now, (state[2] or 0) + 1))
    redis.call('SET', shard .. 'mark', token)
    -- For as long as its lease lasts, which its next renewal prolongs: it may be dead, and nobody waits for it twice.
    local left = redis.call('PTTL', shard .. 'lease\0' .. id)
    if left >= 0 and left < ttl + 0 then
      ttl = math.max(1, left)
    end
    redis.call('SET', KEYS[1], 'fp:' .. id .. ':' .. serial .. ':' .. token .. ':' .. tail, 'PX', ttl)
    redis.call('ZADD', KEYS[3], 'GT', now / 1000 + ttl, KEYS[1])
    redis.call('PUBLISH', channel, id .. ':' .. serial .. ':' .. token .. ':' .. nonce)
    return 1
  end
  if not id then
    -- It wants more than this one name alone: back to its place, in a queue that ends if it was made anew.
    redis.call('ZADD', KEYS[2], first[2], first[1])
    redis.call('PEXPIRE', KEYS[2], string.match(first[1], '^[^:]*:[^:]*:([^:]*)'), 'NX')
  end
end
local S, me = string.sub(KEYS[3], 1, -6), nil
