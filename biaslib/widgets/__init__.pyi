from ._explorer import Explorer as Explorer
from .contrasts import ContrastExplorer as ContrastExplorer
from .sentence_pairs import PairExplorer as PairExplorer
from .top_words import TopWordsExplorer as TopWordsExplorer
from .trends import TrendExplorer as TrendExplorer
