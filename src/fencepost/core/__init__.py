"""Pure values and functions: what can be decided without a clock, dice or I/O."""
