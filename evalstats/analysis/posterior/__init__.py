"""The posterior beside the interval: how probable it is that one is better, by how much, and what a wrong choice costs."""
