"""Inference that may be looked at while data come in: confidence sequences and e-processes."""
