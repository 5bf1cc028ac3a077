"""The records that taskorder hands out: frozen dataclasses, written as JSON; a Plan is also read back unchanged."""

from taskorder.records.comparison import AtRetention, BestOrder, Comparison, Price, RuleScore
from taskorder.records.parts import Alternative, Caution, Confidence, Prediction, Repair, SequenceOrMix
from taskorder.records.plan import Plan, plan_of_values
from taskorder.records.simulation import Simulation, TaskSimulation

__all__ = [
    "Alternative",
    "AtRetention",
    "BestOrder",
    "Caution",
    "Comparison",
    "Confidence",
    "Plan",
    "Prediction",
    "Price",
    "Repair",
    "RuleScore",
    "SequenceOrMix",
    "Simulation",
    "TaskSimulation",
    "plan_of_values",
]
