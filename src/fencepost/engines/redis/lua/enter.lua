-- The full answer to a request, whatever has happened to it: its tokens; or its place, with those ahead and when to
-- look again; or, not waiting, the same without the place. Expects me (the member), lock, wait, open, lead, epoch, list.
local mine = parse(me)
local lease = S .. 'lease\0' .. mine.id
local known = redis.call('GET', lease)
if known and known + 0 > epoch + 0 then
  return { -2 }
elseif open then
  redis.call('SET', lease, epoch, 'PX', mine.ttl)
elseif not known then
  return { -1 }
end
raise(mine, epoch)
lists[mine.key] = list and cjson.decode(list)
local asks = asks_of(mine, lock)

local tokens, count = tokens_of(mine, asks)
if count == #asks then
  -- Asked again because the answer was lost, or told of by a message.
  for _, ask in ipairs(asks) do
    grow(ask[1], mine.ttl)
  end
  -- A write of this connection's own, whatever there was to grow, for those who wait for replicas.
  redis.call('SET', lease, epoch, 'KEEPTTL')
  table.insert(tokens, 1, 1)
  return tokens
end
if count > 0 then
  -- Part of it was taken away: begin again, behind whoever waits for the rest, also one of a lower priority.
  for _, ask in ipairs(asks) do
    let_go(ask[1], mine.key)
  end
  for _, ask in ipairs(asks) do
    promote(ask[1])
  end
end

-- Several names that nobody holds or waits for are granted without a place in their queues: it would cost the server,
-- which is everybody's, five times as long.
local function are_free()
  local keys = {}
  for _, ask in ipairs(asks) do
    if string.sub(ask[2], 1, 1) == 'c' then
      return false
    end
    keys[#keys + 1] = ask[1]
    keys[#keys + 1] = queue_of(ask[1])
    keys[#keys + 1] = hold_of(ask[1])
  end
  for start = 1, #keys, 999 do
    if redis.call('EXISTS', unpack(keys, start, math.min(start + 998, #keys))) > 0 then
      return false
    end
  end
  return true
end
if list and count == 0 and are_free() then
  local won = { 1 }
  for _, ask in ipairs(asks) do
    won[#won + 1] = hold(ask[1], ask[2], ask[3], mine)
  end
  return won
end

local fresh = false
for _, ask in ipairs(asks) do
  fresh = fresh or not redis.call('ZSCORE', queue_of(ask[1]), member_of(mine, ask))
end
if fresh then
  -- Behind whoever came last, in all queues at once, also when the clock was set back since; but not behind one of a
  -- lower priority, which is half a step or more above. Not from the mark: that knows nothing of those who wait alone.
  local turn = now() - lead
  for _, ask in ipairs(asks) do
    local last = redis.call('ZREVRANGEBYSCORE', queue_of(ask[1]), turn + 2 ^ 44, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
    turn = math.max(turn, (last[2] or turn - 1) + 1)
  end
  for _, ask in ipairs(asks) do
    redis.call('ZADD', queue_of(ask[1]), turn, member_of(mine, ask))
  end
end
if list and wait then
  redis.call('HSET', lists_of(mine), mine.serial, list)
  redis.call('PEXPIRE', lists_of(mine), mine.ttl)
end
for _, ask in ipairs(asks) do
  grow(queue_of(ask[1]), mine.ttl)
  if wait then
    index(ask[1], mine.ttl)
  end
end
for _, ask in ipairs(asks) do
  promote(ask[1])
end
local won = granted[mine.key]
if won then
  -- Whoever is first in line has another holder to watch now. It was overtaken: else it would not stand there.
  for _, ask in ipairs(fresh and asks or {}) do
    local first = ask[2] == 'x' and head(queue_of(ask[1])) or refused[ask[1]]
    if first then
      tell(parse(first), '')
    end
  end
  send_news()
  table.insert(won, 1, 1)
  return won
end

-- The first in line watches the holders, everyone else the one before: one death wakes one waiter.
local MOST_NAMED = 100
local ahead, again, stranger = {}, -1, 0
local function watch(what, ms, name, text)
  if #ahead < MOST_NAMED * 3 then
    ahead[#ahead + 1] = name
    ahead[#ahead + 1] = what
    ahead[#ahead + 1] = text
  end
  if ms >= 0 and (again < 0 or ms < again) then
    again = ms
  end
end
local function lease_of(key)
  return redis.call('PTTL', S .. 'lease\0' .. string.match(key, '^[^:]*'))
end
for _, ask in ipairs(asks) do
  local name = ask[1]
  local rank = redis.call('ZRANK', queue_of(name), member_of(mine, ask))
  local near = redis.call('ZRANGE', queue_of(name), math.max(0, rank - 1), rank + 1)
  local behind = near[rank > 0 and 3 or 2]
  if behind and fresh and wait then
    -- It has us to watch from now on.
    tell(parse(behind), '')
  end
  if rank > 0 then
    watch('w', math.max(0, lease_of(near[1])), name, near[1])
  else
    local value = redis.call('GET', name)
    -- Those who share it are there also where somebody has deleted the lock key alone.
    if not value or string.sub(value, 1, 5) == 'fp:*:' then
      local fields = redis.call('HGETALL', hold_of(name))
      for i = 1, #fields, 2 do
        watch('h', math.max(0, lease_of(fields[i])), name, '#' .. fields[i] .. ':' .. fields[i + 1])
      end
    else
      local left = redis.call('PTTL', name)
      if string.sub(value, 1, 3) ~= 'fp:' then
        stranger = 1
        watch('?', left, name, '')
      else
        watch('x', left, name, value)
      end
    end
  end
end
if not wait then
  for _, ask in ipairs(asks) do
    step_out(member_of(mine, ask), ask[1])
  end
  for _, ask in ipairs(asks) do
    promote(ask[1])
  end
end
send_news()
return { 0, again, stranger, unpack(ahead) }
