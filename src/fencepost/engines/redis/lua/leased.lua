-- For as long as its lease lasts, which its next renewal prolongs: it may be dead, and nobody waits for that twice.
-- Expects S.
local function ttl_of(waiter)
  local left = redis.call('PTTL', S .. 'lease\0' .. waiter.id)
  return left < 0 and waiter.ttl or math.max(1, math.min(left, waiter.ttl))
end
