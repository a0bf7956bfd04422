"""Where training pairs come from, one source a file."""
