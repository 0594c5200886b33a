-- Who holds a lock and who waits for it. KEYS lock, index, audit
-- Whoever has a lease at all, as in queue.lua: also in the last millisecond, of which nothing is left.
-- The server's time; the holders, each as text, lease left; the waiters as member, arrival, lease left; evictions.
local S = string.sub(KEYS[2], 1, -6)
local time = redis.call('TIME')
local value = redis.call('GET', KEYS[1])
local holders, waiters, evictions = {}, {}, {}
if value and string.sub(value, 1, 5) ~= 'fp:*:' then
  holders = { value, redis.call('PTTL', KEYS[1]) }
else
  local fields = redis.call('HGETALL', S .. 'hold\0' .. KEYS[1])
  for i = 1, #fields, 2 do
    local left = redis.call('PTTL', S .. 'lease\0' .. string.match(fields[i], '^[^:]*'))
    if left ~= -2 then
      holders[#holders + 1] = '#' .. fields[i] .. ':' .. fields[i + 1]
      holders[#holders + 1] = left
    end
  end
end
local queue = redis.call('ZRANGE', S .. 'queue\0' .. KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #queue, 2 do
  local left = redis.call('PTTL', S .. 'lease\0' .. string.match(queue[i], '^[^:]*'))
  if left ~= -2 then
    waiters[#waiters + 1] = queue[i]
    waiters[#waiters + 1] = queue[i + 1]
    waiters[#waiters + 1] = left
  end
end
-- All names share the record: what somebody else has put there must not hide them.
for _, entry in ipairs(redis.pcall('LRANGE', KEYS[3], 0, -1)) do
  local read, record = pcall(cjson.decode, entry)
  if read and type(record) == 'table' and record[1] == KEYS[1] then
    table.insert(evictions, 1, entry)
  end
end
return { time[1] .. string.format('%06d', time[2]), holders, waiters, evictions }
