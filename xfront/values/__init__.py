"""Arrays as values: keys, references, where an argument lies and is committed, its format."""
