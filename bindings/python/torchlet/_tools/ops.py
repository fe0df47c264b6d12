"""torchlet ops."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional

from .. import _core
from .inputs import Model, loaded


class OperatorNeed(NamedTuple):
    name: str
    schema: Optional[str]  # None if Torchlet does not have it
    reason: str  # why not
    calls: Dict[str, int]  # by model: how often it stands in its code

    @property
    def supported(self) -> bool:
        return self.schema is not None


def ops(*models: Model) -> List[OperatorNeed]:
    """The operators that the models need, or without a model all that there are. As `torchlet ops`."""
    here = dict(_core.operators())
    if not models:
        return [OperatorNeed(name, schema, "", {}) for name, schema in sorted(here.items())]
    calls: Dict[str, Dict[str, int]] = {}
    reasons: Dict[str, str] = {}
    for model in models:
        module = loaded(model)
        file = module.info.file
        for name, count in module.operators.items():
            calls.setdefault(name, {})[file] = count
        for missing in module.unsupported_operators:
            calls.setdefault(missing.name, {})[file] = len(missing.places)
            reasons[missing.name] = missing.reason
    return [OperatorNeed(name, here.get(name), reasons.get(name, ""), calls[name]) for name in sorted(calls)]
