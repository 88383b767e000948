"""How well the models answer held-out data, measured through windrow itself."""
