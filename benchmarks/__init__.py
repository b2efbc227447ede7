"""Speed against other packages, as ratios in one run. `make bench` runs all; `python -m benchmarks NAME` runs one."""
