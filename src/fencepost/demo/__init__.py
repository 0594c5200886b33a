"""A demonstration on real processes: what a lock alone loses when its holder is paused, and what a fence saves."""
