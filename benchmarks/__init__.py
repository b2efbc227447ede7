"""Speed and accuracy beside other packages: `make bench` measures all, `python -m benchmarks CASE` one, `cases.py` lists them."""
