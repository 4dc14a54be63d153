"""Stable names: what rows, other programs and people know this application's parts by.

`declared` is what the code says, `file` what was recorded and committed, `change` the difference;
`check` tells all that stands in the way of a start or of a deployment.
"""
