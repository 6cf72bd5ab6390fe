"""Pictures of results as plain Vega-Lite specifications: one for the page, for SVG files and for the documentation."""
