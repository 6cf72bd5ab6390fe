"""Results files of several runs as one: shards of a plan, nights of a matrix, machines of a fleet."""
