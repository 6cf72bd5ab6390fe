"""What every engine on other machines needs, whatever carries its messages: dispatch, workers, plain data."""
