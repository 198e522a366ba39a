"""What is special about GPUs: `for_gpu.py` is the pass, the other files hold its forms."""
