"""Load test of a running app by many concurrent clients that use the protocol of browsers."""
