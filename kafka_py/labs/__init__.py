"""Exercises on a running cluster, each with a program that tells whether it is solved; see docs/workshop.md."""
