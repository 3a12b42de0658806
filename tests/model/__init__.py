"""Three replicas of one partition in one process, and a search through the orders in which things may happen."""
