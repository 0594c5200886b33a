-- Who holds, who waits, who is next: shared by all scripts that meet others. Expects S, the prefix of a shard's keys, me,
-- the member of whoever asks, or nil, and `ttl_of`, for how long a lock is given to whom it is given.
--
-- A lease is a key whose value is its *epoch*. A session goes on to the next whenever something that it sent, and that
-- could make it a holder or a waiter, was not answered; every claim says the epoch it was made in, and one of
-- an epoch before the lease's does nothing: { -2 }. That is the mark by which a claim that was held up on its way, and
-- comes after its request was asked again, given up or given back, has no effect. A session says its new epoch with
-- whatever it sends next of that request. So it is with a vote of Redlock that is given to another: late, it could be one
-- that came back meanwhile. Nothing else needs the mark: a release, a withdrawal and a sharing name the one request they
-- are about, whose serial is never used again, and a renewal keeps only what is there.
--
-- A waiter is a member of its lock's queue, `id:serial:ttl:channel,nonce:kind:tail`, scored by its arrival in µs, less 2^45
-- for each step of its priority: over a year, and a hundred of them are still exact in a double. The nonce is said with the
-- message that it was granted: nobody else could know it who may not write the lock himself, as it is another for each
-- request, and with Redlock for each node. Its kind is x
-- (alone), s (shared) or cWEIGHT,LIMIT (counted). An m before it says that its request is for several names: it stands in
-- the queue of each, and which they are is written once, in a hash of its lease: serial = [[lock, kind, tail], …]. In each
-- queue it would take room, and time, that grow with the square of their number.
-- The lock key of a name held alone is `fp:id:serial:token:tail`; of one that is shared or counted `fp:*:s` or
-- `fp:*:c`, and its holders are in a hash: `id:serial` = `token:kind:tail`. Any other value is a stranger's.
local now_us
local function now()
  if not now_us then
    local time = redis.call('TIME')
    now_us = time[1] * 1000000 + time[2]
  end
  return now_us
end

local function queue_of(lock)
  return S .. 'queue\0' .. lock
end

local function hold_of(lock)
  return S .. 'hold\0' .. lock
end

local function mint()
  local number = math.max((redis.call('GET', S .. 'mark') or 0) + 1, now())
  redis.call('SET', S .. 'mark', string.format('%.0f', number))
  return number
end

local function parse(member)
  local id, serial, ttl, channel, several, kind, tail =
    string.match(member, '^([^:]*):([^:]*):([^:]*):([^:]*):(m?)([^:]*):(.*)$')
  return {
    key = id .. ':' .. serial,
    id = id,
    serial = serial,
    ttl = ttl + 0,
    channel = channel,
    several = several == 'm',
    kind = kind,
    tail = tail,
    stem = string.sub(member, 1, -2 - #kind - #tail),
  }
end

local function key_of(member)
  return member and string.match(member, '^[^:]*:[^:]*')
end

-- As it stands in the queue of one of its names.
local function member_of(waiter, ask)
  return waiter.stem .. ask[2] .. ':' .. ask[3]
end

local function lists_of(waiter)
  return S .. 'asks\0' .. waiter.id
end

-- What a waiter asks for; nil if the list of its names is lost. Read once for each.
local lists = {}
local function asks_of(waiter, lock)
  if not waiter.several then
    return { { lock, waiter.kind, waiter.tail } }
  end
  if not lists[waiter.key] then
    local list = redis.call('HGET', lists_of(waiter), waiter.serial)
    lists[waiter.key] = list and cjson.decode(list)
  end
  return lists[waiter.key]
end

local function unlist(waiter)
  if waiter.several then
    redis.call('HDEL', lists_of(waiter), waiter.serial)
  end
end

-- Go on to this epoch of a lease, if it is not in it or past it. A lease that is not known here is made known for its ttl,
-- for claims that would make it known themselves.
local function raise(waiter, epoch)
  local lease = S .. 'lease\0' .. waiter.id
  local known = redis.call('GET', lease)
  if known and known + 0 < epoch + 0 then
    redis.call('SET', lease, epoch, 'KEEPTTL')
  elseif not known and epoch ~= '1' and waiter.ttl > 0 then
    redis.call('SET', lease, epoch, 'PX', waiter.ttl)
  end
end

local function is_alive(key)
  return redis.call('EXISTS', S .. 'lease\0' .. string.match(key, '^[^:]*')) == 1
end

-- Messages go out last: a user without the right to publish must not stop a script half-way.
local news, told = {}, {}
local function tell(waiter, text)
  news[#news + 1] = { waiter, text }
  told[waiter.key] = told[waiter.key] or text ~= ''
end
local function send_news()
  for _, message in ipairs(news) do
    local waiter, text = message[1], message[2]
    if text ~= '' or not told[waiter.key] then
      local channel, nonce = string.match(waiter.channel, '^([^,]*),?(.*)$')
      redis.call('PUBLISH', channel, waiter.key .. ':' .. text .. (text == '' and '' or ':' .. nonce))
    end
  end
end

local function grow(key, ttl)
  if redis.call('PTTL', key) < ttl then
    redis.call('PEXPIRE', key, ttl)
  end
end

local function head(queue)
  while true do
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if not first or is_alive(first) then
      return first
    end
    redis.call('ZREM', queue, first)
  end
end

-- How many of these are there. In batches: a call for each holder would cost the server ten times the time.
local function count_of(keys)
  local count = 0
  for first = 1, #keys, 500 do
    count = count + redis.call('EXISTS', unpack(keys, first, math.min(first + 499, #keys)))
  end
  return count
end

-- How a lock is held: nothing, x, or s or c with the weight and the limit of its holders. Forgets the dead among those.
-- Looked at once, and from then on counted along: all holders anew for each who is let in would be their square.
local stood = {}
local function look_at(lock)
  local value = redis.call('GET', lock)
  if value and string.sub(value, 1, 5) ~= 'fp:*:' then
    return { 'x', 0 }
  end
  local hold = hold_of(lock)
  local mode, weight, limit = nil, 0, nil
  local fields = redis.call('HGETALL', hold)
  local leases = {}
  for i = 1, #fields, 2 do
    leases[#leases + 1] = S .. 'lease\0' .. string.match(fields[i], '^[^:]*')
  end
  local all_live = count_of(leases) == #leases
  for i = 1, #fields, 2 do
    if all_live or is_alive(fields[i]) then
      local kind = string.match(fields[i + 1], '^[^:]*:([^:]*)')
      mode = string.sub(kind, 1, 1)
      weight = weight + (string.match(kind, '^c(%d+)') or 1)
      limit = string.match(kind, ',(%d+)')
    else
      redis.call('HDEL', hold, fields[i])
    end
  end
  if not mode and value then
    redis.call('DEL', lock)
  end
  return { mode, weight, limit }
end

local function standing(lock)
  local known = stood[lock] or look_at(lock)
  stood[lock] = known
  return known[1], known[2], known[3]
end

local function admits(lock, kind)
  local mode, weight, agreed = standing(lock)
  if not mode then
    local most, limit = string.match(kind, '^c(%d+),(%d+)')
    return not most or most + 0 <= limit + 0
  end
  if kind == 's' then
    return mode == 's'
  end
  local wanted, limit = string.match(kind, '^c(%d+),(%d+)')
  return wanted and mode == 'c' and limit == agreed and weight + wanted <= limit + 0
end

local function index(lock, ttl)
  redis.call('ZADD', S .. 'names', 'GT', now() / 1000 + ttl, lock)
end

local function hold(lock, kind, tail, waiter)
  local token = mint()
  local text = string.format('%.0f', token)
  if kind == 'x' then
    redis.call('SET', lock, 'fp:' .. waiter.key .. ':' .. text .. ':' .. tail, 'PX', ttl_of(waiter))
  else
    redis.call('HSET', hold_of(lock), waiter.key, text .. ':' .. kind .. ':' .. tail)
    redis.call('SET', lock, 'fp:*:' .. string.sub(kind, 1, 1), 'KEEPTTL')
    grow(lock, waiter.ttl)
    grow(hold_of(lock), waiter.ttl)
  end
  index(lock, waiter.ttl)
  if stood[lock] then
    local weight = stood[lock][2] + (string.match(kind, '^c(%d+)') or 1)
    stood[lock] = { string.sub(kind, 1, 1), weight, string.match(kind, ',(%d+)') }
  end
  return text
end

-- The tokens a request holds, and how many of its names that is.
local function tokens_of(waiter, asks)
  local tokens, count = {}, 0
  for i, ask in ipairs(asks) do
    local value
    if ask[2] == 'x' then
      value = redis.call('GET', ask[1])
      local own = 'fp:' .. waiter.key .. ':'
      value = value and string.sub(value, 1, #own) == own and string.sub(value, #own + 1)
    else
      value = redis.call('HGET', hold_of(ask[1]), waiter.key)
    end
    if value then
      tokens[i] = string.match(value, '^%d+')
      count = count + 1
    end
  end
  return tokens, count
end

-- Whether a request is first in all of its queues, so that nobody overtakes it in any, and all of its locks admit it. It is
-- looked first at the one that refused it before in this script: each of them asks, and most likely that one still does.
local obstacles = {}
local function is_due(waiter, asks, lock)
  local start = obstacles[waiter.key] or 0
  for i = start, start + #asks - 1 do
    local ask = asks[i % #asks + 1]
    if (ask[1] ~= lock and key_of(head(queue_of(ask[1]))) ~= waiter.key) or not admits(ask[1], ask[2]) then
      obstacles[waiter.key] = i % #asks
      return false
    end
  end
  return true
end

-- Grant, in the order of their turns, what can be granted of one lock's queue.
local granted, refused = {}, {}
local my_key = key_of(me)
local function promote(lock)
  while true do
    local first = head(queue_of(lock))
    if not first then
      if not standing(lock) then
        redis.call('ZREM', S .. 'names', lock)
      end
      return
    end
    local waiter = parse(first)
    local asks = asks_of(waiter, lock)
    if not asks then
      -- What it waits for is lost: it has to ask anew.
      redis.call('ZREM', queue_of(lock), first)
      tell(waiter, '')
      return promote(lock)
    end
    if not is_due(waiter, asks, lock) then
      refused[lock] = first
      return
    end
    local tokens = {}
    for i, ask in ipairs(asks) do
      redis.call('ZREM', queue_of(ask[1]), member_of(waiter, ask))
      tokens[i] = hold(ask[1], ask[2], ask[3], waiter)
    end
    unlist(waiter)
    granted[waiter.key] = tokens
    if waiter.key ~= my_key then
      tell(waiter, table.concat(tokens, ','))
    end
    if not waiter.several and waiter.kind == 'x' then
      return
    end
    for _, ask in ipairs(asks) do
      if ask[1] ~= lock and ask[2] ~= 'x' then
        promote(ask[1])
      end
    end
  end
end

-- Leave a queue; whoever stood behind is told to look whom to watch now.
local function step_out(member, lock)
  local queue = queue_of(lock)
  local rank = redis.call('ZRANK', queue, member)
  if not rank then
    return
  end
  local behind = redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
  redis.call('ZREM', queue, member)
  unlist(parse(member))
  if behind then
    tell(parse(behind), '')
  end
end

-- Give back what a request holds of one name, with that token or, without one, whichever.
local function let_go(lock, key, token)
  stood[lock] = nil
  local value = redis.call('GET', lock)
  local own = 'fp:' .. key .. ':' .. (token and token .. ':' or '')
  if value and string.sub(value, 1, #own) == own then
    redis.call('DEL', lock)
    return 1
  end
  local held = redis.call('HGET', hold_of(lock), key)
  if held and (not token or string.match(held, '^%d+') == token) then
    redis.call('HDEL', hold_of(lock), key)
    return 1
  end
  return 0
end
