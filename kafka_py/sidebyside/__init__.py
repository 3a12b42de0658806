"""Kafka's source and ours, method beside method, as pages of HTML that a reader makes from a clone of Apache Kafka.

Ours, no original. Nothing of Kafka's text comes with us: it is read out of the reader's own clone.
"""
