"""Speed and memory, measured: `make bench`, or `python -m benchmarks run scaling`. JSON with the machine."""
