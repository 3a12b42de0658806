"""Implementations of record headers (Java package org.apache.kafka.common.header.internals)."""
