"""moot lets documents argue: each document gets an agent, the agents debate, and the answers come with the documents for
and against them.

>>> import moot
>>> engine = moot.Engine(TINY, kv_memory=64 << 20)
>>> answer = engine.ask(
...     "In which year was Mira Tolland born?",
...     documents=["Mira Tolland was born in 1968.", {"text": "Mira Tolland, born 1931.", "source": "Glass Guild"}],
... )
>>> [document.name for document in answer.documents]
['document 1', 'document 2']
>>> engine.close()

Models run in this process. Calls from several threads are decoded in one batch.
"""

import os as _os
import sys as _sys

from moot import _moot
from moot.answers import Answer, Call, Conflict, Event, Listed, Reply, Said, Stand, Usage
from moot.assessments import Assessment, Claim, Evidence, Newest, Quote, Scores, Unsupported
from moot.contradictions import Contradictions, Finding, Side, Statement, Subject
from moot.documents import Document
from moot.engine import Engine
from moot.errors import (
    FileError,
    InputError,
    Interrupted,
    ModelError,
    MootError,
    OptionError,
    QuestionError,
    RemoteError,
)
from moot.methods import Ask, Conclusion, Context, Method, Question, Supported
from moot.records import Record, RecordedQuestion, records
from moot.runs import RunReport

__version__: str = _moot.__version__

__all__ = [
    "Answer",
    "Ask",
    "Assessment",
    "Call",
    "Claim",
    "Conclusion",
    "Conflict",
    "Context",
    "Contradictions",
    "Document",
    "Engine",
    "Event",
    "Evidence",
    "FileError",
    "Finding",
    "InputError",
    "Interrupted",
    "Listed",
    "Method",
    "ModelError",
    "MootError",
    "Newest",
    "OptionError",
    "Question",
    "QuestionError",
    "Quote",
    "Record",
    "RecordedQuestion",
    "RemoteError",
    "Reply",
    "RunReport",
    "Said",
    "Scores",
    "Side",
    "Stand",
    "Statement",
    "Subject",
    "Supported",
    "Unsupported",
    "Usage",
    "records",
]

# PDF files are read in processes of their own, which limit their memory and time. An interpreter that is embedded in another
# program has no executable: then they are read in this process.
if _sys.executable and _moot.__file__:
    _worker = _os.path.join(_os.path.dirname(__file__), "_worker.py")
    _moot.read_pdf_in(_sys.executable, ["-I", "-S", _worker, _moot.__file__])
