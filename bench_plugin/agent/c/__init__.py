"""The C agent, and how programs are made of it and a compiler's C code: one model, linked in, that answers frames."""
