"""One place for what was given up, whatever it came from.

Promised: a letter is written in the transaction that settles its message, complete with payload
and failure; redrive and resolve are numbered operations with author and reason. No agent runs
here.
"""
