"""Shape annotations are checked at run time in every test: the hook must precede the first import of swirl."""

from jaxtyping import install_import_hook

install_import_hook("swirl", "beartype.beartype")
