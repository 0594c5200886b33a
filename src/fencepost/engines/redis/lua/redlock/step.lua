-- The clock counts in steps of 0.1 s, and grants within one: so nodes that have seen the same grants propose the same token.
-- A node without a memory must be above all that it may have proposed: less than a step ahead of its clock, and one more
-- for each grant since. Expects S.
do
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local mark = redis.call('GET', S .. 'mark') or now + 200000
  redis.call('SET', S .. 'mark', string.format('%.0f', math.max(math.ceil(now / 100000) * 100000, mark)))
end
-- A vote counts from when it was asked for, whatever this node has heard of its lease since.
local function ttl_of(waiter)
  return waiter.ttl
end
