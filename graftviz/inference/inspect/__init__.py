"""Facts about a model: answers, communities, differences."""
