"""Several runs on the same data, compared fairly: at the same cost, whatever they cost each."""

from graftviz.racing.course import AXES, Course, Moment, course_of, step_moment
from graftviz.racing.places import common_places
from graftviz.racing.race import Race, Standing, cost_text, distinct_names
from graftviz.racing.verdict import COLUMNS, Column, Verdict, verdicts

__all__ = [
    "AXES",
    "COLUMNS",
    "Column",
    "Course",
    "Moment",
    "Race",
    "Standing",
    "Verdict",
    "common_places",
    "cost_text",
    "course_of",
    "distinct_names",
    "step_moment",
    "verdicts",
]
