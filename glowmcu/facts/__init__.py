"""What commands found out about a bundle, as data: the one source of everything that shows it."""
