"""What the user reads: tables for the terminal and objects for JSON, made from data alone."""
