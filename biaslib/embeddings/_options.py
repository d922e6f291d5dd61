"""Options of association tests."""

from dataclasses import dataclass

from biaslib._checks import check_choice, check_count, check_number
from biaslib.embeddings._cosines import ASSOCIATIONS
from biaslib.embeddings._words import CASES

_CHOICES = {
    "association": ASSOCIATIONS,
    "alternative": ("greater", "less", "two-sided"),
    "ties": ("greater_equal", "greater"),
    "case": CASES,
}


@dataclass(frozen=True)
class AssociationTestOptions:
    """The options of `weat`, with its defaults, checked when they are given."""

    ddof: int = 1
    association: str = "mean_cosine"
    alternative: str = "greater"
    ties: str = "greater_equal"
    max_exact: int = 200_000
    n_samples: int = 100_000
    seed: int = 0
    max_missing: float = 0.2
    case: str = "as_is"

    def __post_init__(self):
        """Raise ValueError if an option is unknown or out of range."""
        if isinstance(self.ddof, bool) or self.ddof not in (0, 1):
            raise ValueError(f"ddof must be 0 or 1, not {self.ddof!r}")
        for name, known in _CHOICES.items():
            check_choice(getattr(self, name), name, known)
        check_count(self.max_exact, "max_exact", least=0)
        check_count(self.n_samples, "n_samples")
        check_count(self.seed, "seed", least=0)
        check_number(self.max_missing, "max_missing", least=0, most=1)
