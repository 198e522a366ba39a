"""xfront: numeric programs for accelerators; what users import."""
