"""What ``bench choose`` reads and prints: candidates out of rows, predictions and files of targets; its picture."""
