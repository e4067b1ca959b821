"""Names of columns out of a pickle that is never unpickled.

pandas writes a DeepLabCut table through PyTables, which keeps the columns' names as a pickle: it is read here as a list
of tuples of strings, opcode by opcode, and every other opcode is refused.
"""

import pickletools
from collections.abc import Iterator
from typing import Any

_STRINGS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def pickled_columns(data: bytes) -> list[tuple[str, ...]]:
    """Read a pickled list of equally long tuples of strings, and nothing else: no opcode that could run code.

    Examples
    --------
    >>> import pickle
    >>> pickled_columns(pickle.dumps([("net", "nose", "x"), ("net", "nose", "y")], protocol=0))
    [('net', 'nose', 'x'), ('net', 'nose', 'y')]
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    mark = object()

    def pop_to_mark() -> list[Any]:
        at = max(i for i, item in enumerate(stack) if item is mark)
        items = stack[at + 1 :]
        del stack[at:]
        return items

    try:
        for opcode, argument in _opcodes(data):
            name = opcode.name
            if name in ("PROTO", "FRAME"):
                continue
            if name == "STOP":
                break
            if name == "MARK":
                stack.append(mark)
            elif name in _STRINGS:
                stack.append(str(argument))
            elif name in ("LIST", "EMPTY_LIST"):
                stack.append(pop_to_mark() if name == "LIST" else [])
            elif name == "TUPLE":
                stack.append(tuple(pop_to_mark()))
            elif name in _TUPLES:
                n = len(stack) - _TUPLES[name]
                stack[n:] = [tuple(stack[n:])]
            elif name in ("APPEND", "APPENDS"):
                items = [stack.pop()] if name == "APPEND" else pop_to_mark()
                stack[-1].extend(items)
            elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
                memo[len(memo) if argument is None else int(argument)] = stack[-1]
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                stack.append(memo[int(argument or 0)])
            else:
                raise ValueError(f"holds a pickle with {name}, where only lists of strings are read")
        result = stack.pop()
    except (IndexError, KeyError, AttributeError, OverflowError):
        raise ValueError("holds a pickle that is cut short") from None
    rows = result if isinstance(result, list) else []
    tidy = all(isinstance(row, tuple) and all(isinstance(x, str) for x in row) for row in rows)
    if not rows or not tidy or len({len(row) for row in rows}) != 1:
        raise ValueError("holds a pickle of something else than a list of tuples of strings")
    return rows


def _opcodes(data: bytes) -> Iterator[tuple[Any, Any]]:
    """Take a pickle apart, without doing what it says."""
    found = pickletools.genops(data)
    while True:
        try:
            opcode, argument, _ = next(found)
        except StopIteration:
            return
        except ValueError as error:
            raise ValueError(f"holds a pickle that is cut short ({error})") from None
        yield opcode, argument
