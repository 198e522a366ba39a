"""Arrays: binding to jaxlib, methods, promotion, dispatch."""
