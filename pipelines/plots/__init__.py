"""Pictures, as matplotlib figures for the report and for notebooks.

A figure here belongs to nobody: pyplot and its global state stay out, so a
notebook shows a figure as the last line of a cell and no window opens.
Colours are read on a white page and on a dark one.
"""
