"""The two IRs: graph (values and nodes) and instructions (buffers and steps), with one text
form.
"""
