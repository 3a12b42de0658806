"""Load generators for any Kafka broker and the runner that compares two of them: see docs/performance.md."""
