"""Finding skills: lexical, dense and hybrid retrieval, each answering with a Run."""

from skillfit.search.base import Searcher, SearchFacts
from skillfit.search.dense import DenseRetriever
from skillfit.search.hybrid import HybridRetriever, reciprocal_rank_fusion
from skillfit.search.lexical import LexicalRetriever

__all__ = ["DenseRetriever", "HybridRetriever", "LexicalRetriever", "SearchFacts", "Searcher", "reciprocal_rank_fusion"]
