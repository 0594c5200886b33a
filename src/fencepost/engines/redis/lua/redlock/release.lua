-- Give back one node's vote, or the place in its queue: 1, or 0 if the vote was not with this request.
-- KEYS lock, queue, mark; ARGV 'fp:id:serial:', member, and the epoch to go on to if a claim of it may come after this
local held = redis.call('GET', KEYS[1])
if not ARGV[3] and held and string.sub(held, 1, #ARGV[1]) == ARGV[1] then
  local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not first then
    redis.call('DEL', KEYS[1])
    return 1
  end
  local shard = string.sub(KEYS[3], 1, -5)
  local id, serial, ttl, channel, nonce, tail =
    string.match(first, '^([^:]*):([^:]*):([^:]*):([^:,]*),?([^:]*):x:(.*)$')
  -- Not to ourselves: whoever has a majority keeps its place where it got no vote, and may get that one later.
  if id and string.match(ARGV[1], '^fp:([^:]*:[^:]*):') ~= id .. ':' .. serial
    and redis.call('EXISTS', shard .. 'lease\0' .. id) == 1 then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local mark = redis.call('GET', KEYS[3]) or now + 200000
    local token = string.format('%.0f', math.max(math.ceil(now / 100000) * 100000, mark + 1))
    redis.call('SET', KEYS[3], token)
    redis.call('ZREM', KEYS[2], first)
    redis.call('SET', KEYS[1], 'fp:' .. id .. ':' .. serial .. ':' .. token .. ':' .. tail, 'PX', ttl)
    redis.call('PUBLISH', channel, id .. ':' .. serial .. ':' .. token .. ':' .. nonce)
    return 1
  end
end
local S, me = string.sub(KEYS[3], 1, -5), nil
