"""Does a compiled model still compute the same function?"""
