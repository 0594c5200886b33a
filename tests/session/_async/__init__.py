# Written by hand; the blocking twin under _sync is generated from it.
