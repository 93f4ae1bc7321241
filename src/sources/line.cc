#include "sources/line.h"

#include <fmt/format.h>

#include <semel/reason.h>

namespace semel::sources {

void refuse_too_long(Arrival& arrival, std::string_view where, std::size_t size,
                     std::size_t max_line) {
  arrival.refused = std::string(reason::kTooLarge);
  arrival.refused_error = fmt::format(
      "{}: a line of {} bytes, longer than the {} bytes that are read; only its first {} bytes are "
      "kept",
      where, size, max_line, arrival.payload.size());
}

}  // namespace semel::sources
