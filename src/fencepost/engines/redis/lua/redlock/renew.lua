-- Keep a lease on this node, and every vote and place that it has here, for a full ttl more: one call for them all.
-- KEYS lease, index, audit, mark, locks…; ARGV ttl in ms, epoch, and for each lock 'fp:id:serial:' for a vote to hold it
-- alone, '^fp:id:serial:token:tail' for one that this node has not given and may give now, '#id:serial' for a vote to
-- share it, '=member' for a place.
-- 1 if all is well. Else whether the lease was known, and what is not as it was said: position, and '-' for what is not
-- here, '!by' for what was evicted, '+token' for a place that has become a vote.
local S = string.sub(KEYS[2], 1, -6)
local ttl = ARGV[1] + 0
local epoch = redis.call('GET', KEYS[1])
local known = epoch and 1 or 0
-- Nothing is given to a claim that was given back since this was sent, nor to a lease that was closed.
local timely = epoch and epoch + 0 <= ARGV[2] + 0
redis.call('SET', KEYS[1], timely and ARGV[2] or epoch or ARGV[2], 'PX', ttl)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local amiss = { known }
-- By whom each was evicted, read once for all that are gone.
local evictions
local function read_evictions()
  evictions = {}
  -- All names share the record: what somebody else has put there must not stop the renewal of them all.
  for _, entry in ipairs(redis.pcall('LRANGE', KEYS[3], 0, -1)) do
    local read, record = pcall(cjson.decode, entry)
    local text = read and type(record) == 'table' and type(record[4]) == 'string' and record[4] or ''
    local evicted = string.match(text, '^fp:([^:]*:[^:]*):') or string.match(text, '^#([^:]*:[^:]*):')
    if evicted then
      evictions[evicted] = evictions[evicted] or '!' .. tostring(record[5])
    end
  end
end
local function why_gone(key)
  if not evictions then
    read_evictions()
  end
  return evictions[key] or '-'
end
local function grow(key)
  if redis.call('PTTL', key) < ttl then
    redis.call('PEXPIRE', key, ttl)
  end
end
-- In batches: a call for each lock would cost the server twice the time.
for first = 5, #KEYS, 500 do
  local last = math.min(first + 499, #KEYS)
  local values = redis.call('MGET', unpack(KEYS, first, last))
  for i = first, last do
    local lock, said, value = KEYS[i], ARGV[i - 2], values[i - first + 1]
    local sort = string.sub(said, 1, 1)
    local key = string.match(said, '^([^:]*:[^:]*)', (sort == 'f' and 4) or (sort == '^' and 5) or 2)
    local own = 'fp:' .. key .. ':'
    local found
    if value and string.sub(value, 1, #own) == own then
      redis.call('PEXPIRE', lock, ttl)
      found = sort == '=' and '+' .. string.match(value, '^%d+', #own + 1)
    else
      local held = redis.call('HGET', S .. 'hold\0' .. lock, key)
      if held and (not value or string.sub(value, 1, 5) ~= 'fp:*:') then
        -- The lock key is gone, or another's by now: nobody shares it any more.
        redis.call('HDEL', S .. 'hold\0' .. lock, key)
        held = false
      end
      if held then
        grow(lock)
        grow(S .. 'hold\0' .. lock)
        found = sort == '=' and '+' .. string.match(held, '^%d+')
      elseif sort == '=' then
        if redis.call('ZSCORE', S .. 'queue\0' .. lock, string.sub(said, 2)) then
          grow(S .. 'queue\0' .. lock)
        else
          found = '-'
        end
      else
        found = why_gone(key)
        if sort == '^' and timely and found == '-' and redis.call('SET', lock, string.sub(said, 2), 'NX', 'PX', ttl) then
          local token = string.match(said, '^%d+', #own + 2)
          local mark = redis.call('GET', KEYS[4]) or now + 200000
          redis.call('SET', KEYS[4], string.format('%.0f', math.max(token, mark)))
          found = false
        end
      end
    end
    if found then
      amiss[#amiss + 1] = i - 4
      amiss[#amiss + 1] = found
    end
  end
end
-- What the scripts of a single server keep, and nobody needs here.
redis.call('DEL', KEYS[2])
return known == 1 and #amiss == 1 and 1 or amiss
