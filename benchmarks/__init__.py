"""How fast fencepost is, beside the limit and beside its peers, in one interleaved run."""
