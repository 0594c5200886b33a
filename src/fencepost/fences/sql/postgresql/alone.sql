-- One at a time: two that make the same function at once fail each other.
SELECT pg_advisory_xact_lock(hashtextextended('fencepost: install', 0))
