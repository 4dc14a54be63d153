"""Looking at an application's database and settings for what would hurt: `todoke doctor`.

Only `examine` opens connections. What differs between databases is asked by
`todoke.databases.*_health`; here are the questions that every database is asked.
"""
