"""InfoDicts: infos that environments of this process returned, which have no keys in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any, NamedTuple

from parallel_pool._engine.strict_zip import zip
from parallel_pool._workers.data.info_copies import copied
from parallel_pool._workers.data.info_records import Info, Single


class InfoDicts(NamedTuple):
    """Infos as dicts, one for each environment.

    Attributes:
        env_ids: ascending.
        infos: of these environments.
    """

    env_ids: tuple[int, ...]
    infos: tuple[Info, ...]

    @staticmethod
    def of(infos: Sequence[Single]) -> InfoDicts | None:
        """Returns copies of the infos of environments in ascending order; None if one is no dict.

        Copies, as an environment may change its dict before the caller reads it.

        Raises:
            ValueError: an info contains itself, or is nested too deeply.
        """
        if not all(type(info) is dict for _, info in infos):
            return None
        return InfoDicts(
            tuple([env_id for env_id, _ in infos]), tuple([copied(info) for _, info in infos])
        )

    def followed_by(self, other: Any) -> None:
        """Returns None: these are all that were sent together."""

    def without(self, others: Set[int]) -> InfoDicts:
        """Returns these infos without some environments; itself if it has none of those."""
        if others.isdisjoint(self.env_ids):
            return self
        kept = [one for one in self.dicts() if one[0] not in others]
        return InfoDicts(tuple([i for i, _ in kept]), tuple([info for _, info in kept]))

    def dicts(self) -> Iterator[tuple[int, Info]]:
        """Yields each environment and its infos."""
        yield from zip(self.env_ids, self.infos, strict=True)
