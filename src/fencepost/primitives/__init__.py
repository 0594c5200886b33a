"""What users coordinate with: locks first, each a shape of one ask."""
