-- Keep a lease, and every claim and place on it, for a full ttl more: one call for them all.
-- KEYS lease, index, audit, locks…; ARGV ttl in ms, and for each lock 'fp:id:serial:token:' for a claim held alone, or
-- shared since without an answer to that,
-- '#id:serial:token' for one that is shared, '=member' for a place.
-- 1 if all is well. Else 0 for a dead lease, or a list of what is not: position, and why it is gone, or '+' for a
-- place that has become a grant.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local S = string.sub(KEYS[2], 1, -6)
local ttl = ARGV[1] + 0
local time = redis.call('TIME')
local now = math.floor(time[1] * 1000 + time[2] / 1000)
local amiss = {}
-- By whom each was evicted, read once for all that are gone.
local evictions
local function read_evictions()
  evictions = {}
  -- All names share the record: what somebody else has put there must not stop the renewal of them all.
  for _, entry in ipairs(redis.pcall('LRANGE', KEYS[3], 0, -1)) do
    local read, record = pcall(cjson.decode, entry)
    if read and type(record) == 'table' and type(record[2]) == 'string' and type(record[3]) == 'string' then
      local key = record[3] .. ':' .. record[2]
      evictions[key] = evictions[key] or 'evicted by ' .. tostring(record[5])
    end
  end
end
local function why_gone(own)
  local id, serial, token = string.match(own, '^f?p?:?#?([^:]*):([^:]*):(%d+)')
  if not evictions then
    read_evictions()
  end
  return evictions[id .. ':' .. token] or ''
end
local function grow(key)
  if redis.call('PTTL', key) < ttl then
    redis.call('PEXPIRE', key, ttl)
  end
end
-- Whether it shares the lock. Where the lock key is gone, or another's by now, nobody does any more.
local function is_shared(lock, key, value)
  local held = redis.call('HGET', S .. 'hold\0' .. lock, key)
  if held and (not value or string.sub(value, 1, 5) ~= 'fp:*:') then
    redis.call('HDEL', S .. 'hold\0' .. lock, key)
    return false
  end
  return held
end
local function keep_shared(lock, key, token, value)
  local held = is_shared(lock, key, value)
  local kept = held and string.match(held, '^%d+') == token
  if kept then
    grow(lock)
    grow(S .. 'hold\0' .. lock)
  end
  return kept
end
redis.call('PEXPIRE', KEYS[1], ttl)
-- The names that requests for several wait for, if there are any.
redis.call('PEXPIRE', S .. 'asks' .. string.sub(KEYS[1], #S + 6), ttl)
-- In batches: a call for each lock would cost the server twice the time.
for first = 4, #KEYS, 500 do
  local last = math.min(first + 499, #KEYS)
  local values = redis.call('MGET', unpack(KEYS, first, last))
  local index = {}
  for i = first, last do
    local lock, own, value = KEYS[i], ARGV[i - 2], values[i - first + 1]
    local sort, kept = string.sub(own, 1, 1), true
    if sort == 'f' then
      kept = value and string.sub(value, 1, #own) == own
      if kept then
        redis.call('PEXPIRE', lock, ttl)
      else
        local key, token = string.match(own, '^fp:([^:]*:[^:]*):(%d+)')
        kept = keep_shared(lock, key, token, value)
      end
    elseif sort == '#' then
      local key, token = string.match(own, '^#([^:]*:[^:]*):(%d+)')
      kept = keep_shared(lock, key, token, value)
    else
      kept = redis.call('ZSCORE', S .. 'queue\0' .. lock, string.sub(own, 2))
      if kept then
        grow(S .. 'queue\0' .. lock)
      else
        -- Granted, and the message was lost or is on its way: what is ours by now must not end before our lease.
        local key = string.match(own, '^=([^:]*:[^:]*)')
        local reason = '+'
        if value and string.sub(value, 1, #key + 4) == 'fp:' .. key .. ':' then
          redis.call('PEXPIRE', lock, ttl)
        elseif is_shared(lock, key, value) then
          grow(lock)
          grow(S .. 'hold\0' .. lock)
        else
          reason = ''
        end
        amiss[#amiss + 1] = i - 3
        amiss[#amiss + 1] = reason
      end
    end
    if kept then
      index[#index + 1] = now + ttl
      index[#index + 1] = lock
    elseif sort ~= '=' then
      amiss[#amiss + 1] = i - 3
      amiss[#amiss + 1] = why_gone(own)
    end
  end
  if #index > 0 then
    redis.call('ZADD', KEYS[2], 'GT', unpack(index))
  end
end
-- What holders that died have left in the index.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
return #amiss == 0 and 1 or amiss
