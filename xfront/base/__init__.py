"""What all of xfront is written with: options, dtypes, trees, errors, logs, names on demand."""
