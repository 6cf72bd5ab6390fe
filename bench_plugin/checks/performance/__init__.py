"""How long does a compiled model take, and is what was timed right?"""
