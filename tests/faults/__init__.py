"""Histories of real clusters under faults: what was tried, acknowledged and read, and whether that can be."""
