"""Times of two artefacts or runs compared: in turn on one machine, and from stored rows."""
