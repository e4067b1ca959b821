"""Neurodata Without Borders: recordings read, and modes written."""
