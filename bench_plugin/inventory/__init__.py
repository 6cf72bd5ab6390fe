"""The inventory: models, adapters, targets, boards, operator cases, and the workspace that holds them."""
