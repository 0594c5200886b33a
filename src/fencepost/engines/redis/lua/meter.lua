-- Count against a rate, on the server's clock. KEYS meter; ARGV interval in us, burst, weight
-- How long to wait in us, and then nothing was counted; 0 if it was. See core/rate.py for what this computes.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local busy = math.max(redis.call('GET', KEYS[1]) or 0, now) + ARGV[3] * ARGV[1]
local wait = busy - now - ARGV[2] * ARGV[1]
if wait > 0.5 then
  return math.ceil(wait)
end
redis.call('SET', KEYS[1], string.format('%.0f', busy), 'PX', math.max(1, math.ceil((busy - now) / 1000)))
return 0
