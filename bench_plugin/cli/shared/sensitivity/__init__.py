"""How ``bench sensitivity`` gets its figures from agents, and how it prints them."""
