"""What ``bench predict`` is made of: the grid of predictions, measured rows beside it, pictures, and a page."""
