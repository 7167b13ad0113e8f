"""Read the text of a batch of documents; a bad one is named and the others go on."""

from autoops.domain.contracts import Contract, Run
from autoops.domain.passages import DocumentText
from autoops.domain.references import Private
from autoops.ports import Documents


class Input(Contract):
    """Keys of the documents."""

    documents: tuple[str, ...]


class Output(Contract):
    """The texts, one per document, with the problem of each that has none."""

    texts: Private[tuple[DocumentText, ...]]


def parse_documents(given: Input, run: Run, documents: Documents) -> Output:
    """Read each document.

    Raises:
        DependencyUnavailable: the bucket did not answer.
    """
    return Output(texts=tuple(documents.read(run.tenant, key) for key in given.documents))
