"""Who may use which board, and what is done when one is lost."""
