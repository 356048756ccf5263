"""What programs ask of the cache."""
