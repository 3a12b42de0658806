"""The workshop: a broker to play with in one command, and later the labs that take it apart."""
