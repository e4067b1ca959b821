"""NWB files that pynwb has open, or that are in memory only: seen as the HDF5 file that they are or would become.

hdmf, the library under pynwb, makes of an object a tree of groups, datasets and links, just as the schema lays a file
down: so it writes one, and so it has read one.  Here that tree gets the few names of h5py that the readers use.  It
is the same whether the values lie in an HDF5 file, in Zarr, in the cloud or in memory, and only what is asked for is
fetched.  The object is not changed.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

_TEXT = ("utf", "utf8", "utf-8", "ascii", "text", "bytes", "isodatetime", "datetime")


def is_nwb_object(source: Any) -> bool:
    """Whether something is a `pynwb.NWBFile`; pynwb is not imported for that.

    >>> is_nwb_object("m1.nwb")
    False
    """
    return any(kind.__name__ == "NWBFile" for kind in type(source).__mro__)


def called(source: Any) -> str:
    """What to call an object in a message.

    >>> from datetime import datetime, UTC
    >>> import pynwb
    >>> called(pynwb.NWBFile("a day", "3f2a", datetime(2026, 3, 1, tzinfo=UTC), session_id="day 2"))
    "the NWBFile 'day 2'"
    """
    return f"the NWBFile {str(source.session_id or source.identifier)!r}"


class Group:
    """A group of the tree."""

    def __init__(self, builder: Any, name: str, file: "File", parent: "Group | None") -> None:
        self.builder, self.name, self.file = builder, name, file
        self.parent: Group = self if parent is None else parent
        self.attrs: dict[str, Any] = dict(builder.attributes)

    def keys(self) -> list[str]:
        """Names of what is in it, in the order in which HDF5 lists them."""
        return sorted([*self.builder.groups, *self.builder.datasets, *self.builder.links], key=str.encode)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def items(self) -> list[tuple[str, Any]]:
        """Names, and what is called so."""
        return [(name, self[name]) for name in self]

    def __contains__(self, path: str) -> bool:
        return self.get(path) is not None

    def __getitem__(self, path: Any) -> Any:
        found = self.get(path)
        if found is None:
            raise KeyError(f"{self.name} has no {path}")
        return found

    def get(self, path: Any, default: Any = None, getlink: bool = False) -> Any:
        """What stands at a path (or what a reference refers to); links are followed, and have no kind of their own."""
        if getlink:
            return default
        if not isinstance(path, str):
            path = "/" + getattr(path, "builder", path).path.partition("/")[2]
        at: Any = self.file if path.startswith("/") else self
        for name in filter(None, path.split("/")):
            at = at.child(name) if isinstance(at, Group) else None
        return default if at is None else at

    def child(self, name: str) -> "Group | Dataset | None":
        """What is called so in this group."""
        own = self.builder
        found = own.groups.get(name) or own.datasets.get(name) or own.links.get(name)
        if found is None:
            return None
        target = getattr(found, "builder", found)  # a link has one
        kind = Group if hasattr(target, "groups") else Dataset
        return kind(target, f"{self.name.rstrip('/')}/{name}", self.file, self)

    def visititems(self, visit: Callable[[str, Any], None]) -> None:
        """Call with the path and each thing below; links are not followed."""
        for name in self:
            thing = self[name]
            if name not in self.builder.links:
                visit(thing.name.lstrip("/"), thing)
                if isinstance(thing, Group):
                    thing.visititems(visit)


class File(Group):
    """The whole tree of one object."""

    def __init__(self, source: Any) -> None:
        super().__init__(_tree_of(source), "/", self, None)
        self.filename = called(source)
        self._types = _manager_of(source).namespace_catalog

    @cached_property
    def parents(self) -> dict[str, str]:
        """Type → the type that it extends, of all types of extensions that occur."""
        found: dict[str, str] = {}

        def visit(name: str, thing: Any) -> None:
            space, of = thing.attrs.get("namespace"), thing.attrs.get("neurodata_type")
            if of is not None and space not in (None, "core", "hdmf-common", "hdmf-experimental"):
                line = self._types.get_hierarchy(space, of)
                found.update(pairwise(line))

        self.visititems(visit)
        return found


class Dataset:
    """Values in the tree; they are fetched when they are asked for."""

    is_virtual, external = False, None  # what pynwb has opened, the user has asked for

    def __init__(self, builder: Any, name: str, file: File, parent: Group) -> None:
        self.builder, self.name, self.file, self.parent = builder, name, file, parent
        self.attrs: dict[str, Any] = dict(builder.attributes)

    @cached_property
    def values(self) -> Any:
        """An array, or what can be sliced like one."""
        from hdmf.data_utils import AbstractDataChunkIterator, DataIO

        raw = self.builder.data
        if isinstance(raw, DataIO):
            raw = raw.data
        if isinstance(raw, AbstractDataChunkIterator):
            raise ValueError(
                f"{self.file.filename}, {self.name} can be read only once (it is an iterator): write the file first, "
                "then read that"
            )
        return raw if getattr(raw, "shape", ()) and hasattr(raw, "dtype") else np.asarray(raw)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of all values."""
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype:
        """As h5py would have it: text is text of any length."""
        import h5py

        of, own = self.builder.dtype, self.values.dtype
        if not isinstance(own, np.dtype):
            return np.dtype(object)
        text = own.kind in "US" or (isinstance(of, str) and of in _TEXT)
        if own.kind == "O" and not text and h5py.check_string_dtype(own) is None and self.size:  # Zarr has text so
            text = isinstance(self.values[(0,) * self.ndim], str | bytes)
        return h5py.string_dtype() if text else own

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def asstr(self, errors: str = "strict") -> "_AsText":
        """The values as text."""
        return _AsText(self, errors)


class _AsText:
    """A dataset whose values come as text."""

    def __init__(self, dataset: Dataset, errors: str) -> None:
        self.dataset, self.errors = dataset, errors

    def __getitem__(self, key: Any) -> Any:
        values = np.asarray(self.dataset[key], dtype=object)
        text = [x.decode(errors=self.errors) if isinstance(x, bytes) else str(x) for x in values.ravel().tolist()]
        return np.array(text, dtype=object).reshape(values.shape)


def _manager_of(source: Any) -> Any:
    """What makes trees of objects: that of the file which the object was read from, or pynwb's own."""
    import pynwb

    return pynwb.get_manager() if source.read_io is None else source.read_io.manager


def _tree_of(source: Any) -> Any:
    """The tree of an object: as it was read where nothing has changed since, else made as for an export."""
    from hdmf.build import BuildManager

    manager = _manager_of(source)
    read = None if source.modified else manager.get_builder(source)
    if read is not None:
        return read
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about types of numbers and about what had better be there: nothing is written
        fresh: Any = BuildManager  # which declares its arguments only when it is called
        return fresh(manager.type_map).build(source, source="memory", root=True, export=True)
