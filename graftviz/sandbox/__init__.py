"""Reading of uploaded files in worker processes with limits on memory and processor time."""
