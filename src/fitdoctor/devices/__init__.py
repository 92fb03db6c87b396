"""CPU or GPU: the user's own fit on each device, and from where on which one wins."""
