-- Make a lease known. KEYS lease; ARGV ttl in ms
-- Not if it is known: this may come after claims that have made it known themselves, and gone on to another epoch.
redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1])
return 1
