// HTTPWire: to come.
