"""Pictures of predictions, drawn of plain records: rooflines, and heat maps of inputs per second."""
