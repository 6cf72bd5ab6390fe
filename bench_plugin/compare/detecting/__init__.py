"""When detected objects are the right ones: matched, suppressed, and rated as a whole."""
