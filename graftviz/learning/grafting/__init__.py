"""Edge grafting: best-choice, edge grafting, first hit, with queue, reservoir and frozen list."""
