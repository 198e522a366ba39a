"""How each op becomes StableHLO: one file a family, imported when the family is first lowered."""
