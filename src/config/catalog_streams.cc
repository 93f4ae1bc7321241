// Error codes of Redis Streams.
#include "config/catalog.h"

namespace semel::config::catalog {

namespace {

constexpr CodePage kStreamPages[] = {
    {"D138", "a stream and its group",
     "semel doctor asks the Redis server of a source for the stream and its group: how many "
     "entries "
     "are unread and pending. Entries that were trimmed before the group had read them are counted "
     "by the server for ever; a server without a log forgets entries and acknowledgements when it "
     "ends. A store in the same database acknowledges an entry in the step that writes its record; "
     "where its user may not, and for natural and query, which write none, the source does it.",
     "Make the group where it is not there; let the stream keep more; turn the log on; give the "
     "store's user +xack and the stream's name.",
     "appendonly yes", 1},
    {"R371", "a stream has no such group",
     "The Redis server has no stream of that name, or the stream has no group of that name; or it "
     "was deleted while it was read. Semel makes none unless it is told to, and never in the "
     "middle of a run, because its beginning would be undefined.",
     "Make it with its beginning, 0 or $; or let Semel make it: declare: true, with from: earliest "
     "or latest.",
     "XGROUP CREATE orders billing 0 MKSTREAM", 78},
    {"R372", "what is there is no stream",
     "The Redis server has a value of another type under the name of the stream.",
     "Name the stream; or name the database that has it in source.redis_streams.url.",
     "source: { redis_streams: { url: \"redis://db/2\", stream: orders, group: billing } }", 78},
    {"R373", "a Redis server that is too old for streams",
     "Before version 7 a server does not report which pending entries were trimmed meanwhile: they "
     "would be lost silently. As a store it is new enough.",
     "Use a newer server.", "", 78},
};

}  // namespace

std::span<const CodePage> stream_codes() noexcept { return kStreamPages; }

}  // namespace semel::config::catalog
