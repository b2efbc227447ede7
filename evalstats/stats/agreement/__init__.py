"""How far two measurements agree on the order of models, with and without their noise."""
