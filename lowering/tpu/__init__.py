"""What is special about TPUs: `for_tpu.py` is the pass, the other files hold its forms."""
