"""Operators of PyTorch: what stands behind tarsia.torch."""
