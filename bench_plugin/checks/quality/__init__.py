"""Does a compiled model still do its task as well?"""
