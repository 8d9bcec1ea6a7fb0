"""The published JSON Schemas of vstore's documents, as package data (``v1/*.schema.json``)."""
