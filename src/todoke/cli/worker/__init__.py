"""`todoke worker`: a supervisor and the processes it keeps running.

    command ─▶ supervisor ══tether══▶ child ─▶ app.run()

The supervisor starts fresh interpreters; the tether is a socket whose closing tells a child that
its supervisor is gone, however it went.
"""
