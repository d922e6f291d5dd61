"""Work on the processes and machines of a Dask cluster: connect, submit, keep in a worker what is slow to load."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biaslib.scoring.models import MaskedLM, load_masked_lm

if TYPE_CHECKING:
    import distributed

_KEPT = {}
_SECONDS_TO_CONNECT = 20
_SECONDS_TO_WAIT = 5


def per_worker(load: Callable[..., Any], *arguments, **options) -> Any:
    """Load something slow once per process and keep it for the next call there.

    Parameters
    ----------
    load : callable
        Such as `biaslib.scoring.load_masked_lm`.
    *arguments, **options
        Passed to `load`. One result per `load` is kept; other arguments replace it, so that a worker never holds two
        models.

    Returns
    -------
    object
        What `load` returned, now or earlier.

    Examples
    --------
    >>> per_worker(list, "ab") is per_worker(list, "ab"), per_worker(list, "cd")
    (True, ['c', 'd'])
    """
    kept = _KEPT.get(load)
    if kept is None or kept[:2] != (arguments, options):
        # The old result goes first, since memory may not hold both.
        kept = _KEPT.pop(load, None)
        kept = _KEPT[load] = (arguments, options, load(*arguments, **options))
    return kept[2]


def worker_model(name: str, fingerprint: str, **options) -> MaskedLM:
    """Load a masked language model once per process and check that it is the right one.

    Parameters
    ----------
    name : str
        As for `biaslib.scoring.load_masked_lm`.
    fingerprint : str
        Of the model in the process that submits the work.
    **options
        Further arguments of `biaslib.scoring.load_masked_lm`.

    Returns
    -------
    biaslib.scoring.MaskedLM

    Raises
    ------
    ValueError
        If the model of that name on this machine is another one.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> worker_model("demo", load_masked_lm("demo").fingerprint).name
    'demo'
    """
    return per_worker(_load_checked, name, fingerprint, **options)


@contextmanager
def connected(client) -> "Iterator[distributed.Client]":
    """Yield the Dask client for a client, an address or a scheduler file.

    Parameters
    ----------
    client : distributed.Client, str or Path
        A client, used as it is; the address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or the file written by
        ``dask scheduler --scheduler-file``. A connection made here is closed at the end. If no worker appears within
        5 seconds, a line on standard error says that the work waits for one.

    Yields
    ------
    distributed.Client

    Raises
    ------
    ModuleNotFoundError
        If Dask is not installed.
    ConnectionError
        If no scheduler answers.
    TypeError
        If `client` is none of these.

    Examples
    --------
    >>> with connected("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     client.submit(sum, [1, 2]).result()
    3
    """
    distributed = _distributed()
    if isinstance(client, distributed.Client):
        _say_if_without_workers(client)
        yield client
    elif isinstance(client, str | Path):
        with _new_client(distributed, client) as made:
            _say_if_without_workers(made)
            yield made
    else:
        raise TypeError(f"{client!r} is neither a dask.distributed.Client nor the address of a scheduler")


def each_result(
    client: "distributed.Client", function: Callable, items: Sequence
) -> "Iterator[tuple[int, Any, Exception | None]]":
    """Apply a function to items on Dask's workers and yield the results as they arrive.

    Parameters
    ----------
    client : distributed.Client
    function : callable
        Takes one item; it and the items are sent to the workers.
    items : sequence

    Yields
    ------
    number : int
        Of the item.
    result : object
        None if the function failed.
    error : Exception or None
        What the function raised, or an error saying that several workers died on the item. An item whose worker dies is
        given to another.

    Raises
    ------
    ConnectionError
        If the connection to the scheduler is lost.

    Examples
    --------
    >>> with connected("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     sorted(each_result(client, abs, [-1, -2]))
    [(0, 1, None), (1, 2, None)]
    """
    distributed = _distributed()
    numbers = {client.submit(function, item, pure=False): number for number, item in enumerate(items)}
    try:
        for future in distributed.as_completed(list(numbers)):
            # Not held any longer, so that its worker lets the result go.
            number = numbers.pop(future)
            if future.cancelled():
                raise ConnectionError("the Dask scheduler is gone; start one and rerun the same call to resume")
            error = future.exception()
            yield number, None if error else future.result(), error
    finally:
        if numbers and client.status == "running":
            client.cancel(list(numbers))


def _distributed():
    try:
        import distributed
    except ImportError as error:
        raise ModuleNotFoundError(
            f"work on a Dask cluster needs dask.distributed ({error}); pip install 'biaslib[cluster]'"
        ) from None
    return distributed


def _new_client(distributed, address):
    is_file = Path(address).is_file()
    where = {"scheduler_file": str(address)} if is_file else {"address": str(address)}
    try:
        return distributed.Client(**where, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        # The error that Dask raises says little about the cause.
        raise ConnectionError(
            f"no Dask scheduler answers at {str(address)!r} ({type(error).__name__}); give its address, such as "
            "tcp://10.0.0.1:8786, or its scheduler file"
        ) from None


def _say_if_without_workers(client):
    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_WAIT)
    except TimeoutError:
        where = getattr(client.scheduler, "address", "there")
        print(f"waiting for workers: the scheduler at {where} has none yet", file=sys.stderr, flush=True)


def _load_checked(name, fingerprint, **options):
    lm = load_masked_lm(name, **options)
    if lm.fingerprint != fingerprint:
        raise ValueError(
            f"the model {name!r} has the fingerprint {lm.fingerprint} on this worker, not {fingerprint}; "
            "give all machines the same files"
        )
    return lm
