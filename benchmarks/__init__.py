"""Timings of the engine; see docs/benchmarks.md for what each one answers and how to read it."""
