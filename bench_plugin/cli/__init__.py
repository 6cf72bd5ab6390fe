"""The command ``bench``: one module per subcommand, in folders by subject, imported when it is asked for."""
