#include "admin/html.h"

namespace semel::admin {

std::string html(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      case '\'':
        made += "&#39;";
        break;
      default:
        made += c;
    }
  }
  return made;
}

}  // namespace semel::admin
