"""Work spread over processes and machines by Dask: connect, submit, keep what is slow to load in a worker."""

import sys
from contextlib import contextmanager
from pathlib import Path

from biaslib.scoring.models import load_masked_lm

_KEPT = {}
_SECONDS_TO_CONNECT = 20
_SECONDS_TO_WAIT = 5


def per_worker(load, *arguments, **options):
    """Load something slow once in a process and keep it for the next call there.

    Parameters
    ----------
    load : callable
        Such as `biaslib.scoring.load_masked_lm`.
    *arguments, **options
        For it. One result of each `load` is kept: other arguments replace it, so that a worker never holds two models.

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
        # The old one goes first: there may be no room for both.
        kept = _KEPT.pop(load, None)
        kept = _KEPT[load] = (arguments, options, load(*arguments, **options))
    return kept[2]


def worker_model(name, fingerprint, **options):
    """Load a masked language model once in a process and make sure that it is the one meant.

    Parameters
    ----------
    name : str
        As for `biaslib.scoring.load_masked_lm`.
    fingerprint : str
        Of the model that was loaded where the work was given out.
    **options
        Further arguments of `biaslib.scoring.load_masked_lm`.

    Returns
    -------
    biaslib.scoring.MaskedLM

    Raises
    ------
    ValueError
        If another model has that name on this machine.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> worker_model("demo", load_masked_lm("demo").fingerprint).name
    'demo'
    """
    return per_worker(_load_checked, name, fingerprint, **options)


@contextmanager
def connected(client):
    """Give the Dask client for a client, an address or a scheduler file.

    Parameters
    ----------
    client : distributed.Client, str or Path
        A client, used as it is; the address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or the file that
        ``dask scheduler --scheduler-file`` wrote. A connection made here is closed at the end. Where no worker comes
        within seconds, a line on standard error says that the work waits.

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
        If it is nothing of these.

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


def each_result(client, function, items):
    """Apply a function to items on Dask's workers; give what comes back in the order in which it does.

    Parameters
    ----------
    client : distributed.Client
    function : callable
        Of one item; it and the items are sent to the workers.
    items : sequence

    Yields
    ------
    number : int
        Of the item.
    result : object
        None if it failed.
    error : Exception or None
        What the function raised, or that its workers died again and again. An item whose worker died is given to
        another.

    Raises
    ------
    ConnectionError
        If the scheduler is gone.

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
                raise ConnectionError("the Dask scheduler is gone: start one and give the same call to go on")
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
            f"work on a Dask scheduler needs dask.distributed ({error}): pip install 'biaslib[cluster]'"
        ) from None
    return distributed


def _new_client(distributed, address):
    is_file = Path(address).is_file()
    where = {"scheduler_file": str(address)} if is_file else {"address": str(address)}
    try:
        return distributed.Client(**where, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        # What Dask raised says little of the cause.
        raise ConnectionError(
            f"no Dask scheduler answers at {str(address)!r} ({type(error).__name__}): give its address, such as "
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
            f"the model {name!r} has the fingerprint {lm.fingerprint} on this worker, not {fingerprint}: "
            "give all machines the same files"
        )
    return lm
