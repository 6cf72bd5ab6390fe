"""The command ``bench``: one module per subcommand, imported when it is asked for."""
