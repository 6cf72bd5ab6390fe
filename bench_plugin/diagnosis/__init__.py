"""The diagnosis of a failed cell: localise, reduce, and scripts that show a defect with the tool alone."""
