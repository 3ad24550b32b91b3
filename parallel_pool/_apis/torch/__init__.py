"""PyTorch tensors in place of arrays."""
