"""The Lessons page: prepared states with questions, and the glossary."""
