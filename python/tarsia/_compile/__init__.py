"""What a library is made from, how it is loaded, and what is said meanwhile."""
