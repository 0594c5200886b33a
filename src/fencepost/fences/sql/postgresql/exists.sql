SELECT count(*) FROM pg_class WHERE oid = to_regclass('fencepost_fence')
