"""Claims in memory for asyncio."""

import semel.aio
from semel.testing import MemoryClaims


class AioMemory:
    """As semel.testing.MemoryClaims."""

    def __init__(self, **options):
        self.memory = MemoryClaims(**options)

    async def claim(self, key, payload=None):
        return semel.aio.Claim.of(self.memory.claim(key, payload), self)

    async def end_claim(self, held, how, result, after, error):
        self.memory.end_claim(held, how, result, after, error)

    async def renew_claim(self, held, lease):
        self.memory.renew_claim(held, lease)
