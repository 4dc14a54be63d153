"""What the web frameworks have in common: keys in requests, and what a repeat is answered."""
