"""Jobs: work for later, with an argument; once, on a schedule, in chains and batches."""
