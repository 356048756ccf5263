"""Graphs of registered ops: what stands behind ``tarsia.Graph``."""

from .bound import BoundGraph, CapturedGraph
from .graph import Graph, GraphValue
from .plan import Plan

__all__ = ["BoundGraph", "CapturedGraph", "Graph", "GraphValue", "Plan"]
