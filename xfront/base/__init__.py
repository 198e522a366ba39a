"""The base that all of xfront uses: options, dtypes, trees, errors, logs, names on demand."""
