"""From IR to running programs: lowering rules, PJRT clients, compilation, caches, execution."""
