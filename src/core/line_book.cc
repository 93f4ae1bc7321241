#include "core/line_book.h"

namespace semel::core {

bool LineBook::free(BytesView line, Question asked) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return true;
  if (found->second >= asked) return false;
  lines_.erase(found);
  return true;
}

void LineBook::only(const std::set<Bytes>& lines, Question asked) {
  for (const Bytes& line : lines) held(line);
  std::erase_if(lines_, [&](const auto& known) {
    return known.second < asked && !lines.contains(known.first);
  });
}

bool LineBook::fresh(BytesView line, Question asked) const {
  const auto found = find(line);
  return found == lines_.end() || found->second < asked;
}

}  // namespace semel::core
