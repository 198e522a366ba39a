"""What is put on jaxlib's array class and on Tracer: methods and operators."""
