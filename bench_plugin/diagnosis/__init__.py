"""Why a cell failed: localise, reduce, and stand-alone scripts that show a defect with the tool alone."""
