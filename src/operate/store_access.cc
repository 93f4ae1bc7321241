#include "operate/store_access.h"

#include <fmt/format.h>

namespace semel::operate {

Error no_messages(const Store& store) {
  return {ErrorKind::kRejected, "R267",
          fmt::format("the {} store keeps no messages here: no queue, no retry that waits, no dead "
                      "letter",
                      store.traits().name),
          store.traits().borrowed
              ? "open a store of Semel's own: one on a borrowed connection is for Guard"
              : "a Redis server is entrusted with them where its maxmemory-policy is noeviction, "
                "or one of volatile-…"};
}

}  // namespace semel::operate
