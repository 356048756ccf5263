"""What MobulaOP keeps for itself, as far as programs import it."""
