"""Comparison of several runs on the same data at equal cost."""

from graftviz.racing.column_results import COLUMNS, Column, ColumnResult, column_results
from graftviz.racing.course import AXES, Course, Moment, course_of, step_moment
from graftviz.racing.places import common_places
from graftviz.racing.race import Race, Standing, cost_text, distinct_names
from graftviz.racing.rehearsal import rehearse, small_data

__all__ = [
    "AXES",
    "COLUMNS",
    "Column",
    "ColumnResult",
    "Course",
    "Moment",
    "Race",
    "Standing",
    "column_results",
    "common_places",
    "cost_text",
    "course_of",
    "distinct_names",
    "rehearse",
    "small_data",
    "step_moment",
]
