-- name: grant
INSERT INTO claim
SELECT ?1, 0, ?2, ?3, ?4, 0, 1, ?5, ?6, ?7, ?8, ?9
WHERE NOT EXISTS (SELECT 1 FROM claim WHERE name = ?1)
  AND EXISTS (SELECT 1 FROM holder WHERE id = ?3 AND expires_at > ?9 AND gate = ?10)

-- name: release
DELETE FROM claim
WHERE name = ?1 AND waiting = 0 AND number = ?2 AND holder = ?3
  AND NOT EXISTS (SELECT 1 FROM claim WHERE name = ?1 AND waiting = 1)
  AND EXISTS (SELECT 1 FROM holder WHERE id = ?3 AND expires_at > ?4)

-- name: join
INSERT INTO claim
SELECT ?1, 1, ?2, ?3, ?4, 0, 1, ?5, ?6, ?7, ?8, ?9
WHERE EXISTS (SELECT 1 FROM claim WHERE name = ?1)
  AND NOT EXISTS (SELECT 1 FROM claim WHERE name = ?1 AND waiting = 1 AND number > ?2)
  AND EXISTS (SELECT 1 FROM holder WHERE id = ?3 AND expires_at > ?9 AND gate = ?10 AND mailbox = ?11)

-- name: hand_over
-- The usual case of what `admitted` decides: we hold the name alone, and the first in line wants it alone.
-- The trigger on this update removes our own claim.
UPDATE claim SET waiting = 0, number = ?2, since = ?3
WHERE name = ?1 AND waiting = 1 AND mode = 'exclusive' AND parts = 1
  AND number = (SELECT min(number) FROM claim WHERE name = ?1 AND waiting = 1)
  AND EXISTS (
      SELECT 1 FROM claim
      WHERE name = ?1 AND waiting = 0 AND number = ?4 AND holder = ?5 AND mode = 'exclusive'
  )
  AND EXISTS (SELECT 1 FROM holder WHERE id = claim.holder AND expires_at > ?3)
  AND EXISTS (SELECT 1 FROM holder WHERE id = ?5 AND expires_at > ?3 AND gate = ?6)
RETURNING holder, serial, (SELECT mailbox FROM holder WHERE id = claim.holder)

-- name: let_go
DELETE FROM claim
WHERE name = ?1 AND waiting = 0 AND number = ?2 AND holder = ?3
  AND EXISTS (SELECT 1 FROM holder WHERE id = ?3 AND expires_at > ?4)

-- name: share
UPDATE claim SET mode = 'shared'
WHERE name = ?1 AND waiting = 0 AND number = ?2 AND holder = ?3
  AND EXISTS (SELECT 1 FROM holder WHERE id = ?3 AND expires_at > ?4)

-- name: open
INSERT INTO holder (id, label, ttl, expires_at, pid, started, namespace, mailbox, gate)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (id) DO UPDATE SET ttl = ?3, expires_at = ?4

-- name: renew
UPDATE holder SET ttl = ?2, expires_at = ?3 WHERE id = ?1 AND expires_at > ?4 RETURNING evicted

-- name: alive
SELECT label, expires_at, pid, started, namespace, mailbox FROM holder WHERE id = ?1 AND expires_at > ?2

-- name: claim
INSERT INTO claim VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)

-- name: drop
DELETE FROM claim WHERE name = ?1 AND waiting = ?2 AND number = ?3 AND holder = ?4

-- name: remove
DELETE FROM claim WHERE name IS ?1 AND waiting IS ?2 AND number IS ?3

-- name: promote
UPDATE claim SET waiting = 0, number = ?3, since = ?4 WHERE name = ?1 AND waiting = 1 AND number = ?2

-- name: place
SELECT 1 FROM claim WHERE name = ?1 AND waiting = 1 AND number = ?2

-- name: before
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE name = ?1 AND waiting = 0
UNION ALL
SELECT * FROM (
    SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
    FROM claim c JOIN holder h ON h.id = c.holder
    WHERE name = ?1 AND waiting = 1 AND number < ?2
    ORDER BY number DESC LIMIT 1
)

-- name: standing
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE name = ?1 AND waiting = ?2
ORDER BY number LIMIT ?3

-- name: queue
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE name = ?1
ORDER BY waiting, number LIMIT ?2

-- name: clear
DELETE FROM claim WHERE name = ?1

-- name: note_relays
UPDATE life SET relays = ?1 WHERE relays <> ?1

-- name: adopt
UPDATE holder SET gate = ?1

-- name: relays
SELECT relays FROM life

-- name: after
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE name = ?1 AND waiting = 1 AND number > ?2
ORDER BY number LIMIT 1

-- name: everyone
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder

-- name: request
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE holder = ?1 AND serial = ?2

-- name: belongings
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE holder = ?1

-- name: bury_claims
DELETE FROM claim WHERE holder = ?1

-- name: bury_holder
DELETE FROM holder WHERE id = ?1 RETURNING mailbox

-- name: holders
SELECT id, expires_at, pid, started, namespace, mailbox FROM holder

-- name: move_in
UPDATE holder SET mailbox = ?2 WHERE id = ?1 AND mailbox IS NOT ?2

-- name: move
UPDATE holder SET mailbox = ?2 WHERE mailbox = ?1

-- name: presence
SELECT expires_at, pid, started, namespace, mailbox FROM holder WHERE id = ?1

-- name: names
SELECT DISTINCT name FROM claim WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1 ORDER BY name

-- name: evict
INSERT INTO eviction (name, token, evicted, by, at) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: warn_evicted
UPDATE holder SET evicted = evicted + 1 WHERE id = ?1

-- name: forget_evictions
DELETE FROM eviction WHERE id <= (SELECT max(id) FROM eviction) - ?1

-- name: evictions
SELECT name, token, evicted, by, at FROM eviction WHERE name = ?1 ORDER BY id DESC

-- name: evicted_by
SELECT by FROM eviction WHERE name = ?1 AND token = ?2 ORDER BY id DESC LIMIT 1

-- name: held
SELECT 1 FROM claim WHERE name = ?1 AND waiting = 0 AND number = ?2 AND holder = ?3

-- name: note_ceiling
UPDATE life SET ceiling = ?1 WHERE ceiling < ?1

-- name: highest
-- Of a turn only its ticket counts.
SELECT max(coalesce((SELECT max(number & 18014398509481983) FROM claim), 0), coalesce((SELECT max(ceiling) FROM life), 0))

-- name: mine
SELECT c.*, h.label, h.expires_at, h.pid, h.started, h.namespace, h.mailbox
FROM claim c JOIN holder h ON h.id = c.holder
WHERE name = ?1 AND holder = ?2 AND serial = ?3

-- name: addressed
SELECT 1 FROM holder WHERE mailbox = ?1

-- name: busy_until
SELECT busy_until FROM meter WHERE key = ?1

-- name: take
INSERT OR REPLACE INTO meter VALUES (?1, ?2)

-- name: forget_idle
DELETE FROM meter WHERE key IN (SELECT key FROM meter WHERE busy_until < ?1 ORDER BY busy_until LIMIT 4)
