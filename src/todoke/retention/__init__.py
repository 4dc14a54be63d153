"""Retention: what is done with is kept for a while, then archived and deleted in small chunks.

Promised: nothing younger is touched, nothing that still has to be done is touched, and where there
is an archive nothing is deleted before it lies there, on disk. A row may lie there twice.
"""
