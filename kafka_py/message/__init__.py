"""Names and numbers of codecs in broker configurations (Scala package kafka.message)."""
