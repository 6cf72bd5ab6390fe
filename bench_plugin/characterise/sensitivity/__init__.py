"""What quantising single layers costs a model, and which ones a quantiser should leave alone (docs/sensitivity.md)."""
