"""Directories that stock `transformers` opens, both ways, without importing it."""
