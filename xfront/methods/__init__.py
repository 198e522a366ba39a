"""The methods and operators that are attached to jaxlib's array class and to Tracer."""
