#include <semel/version.h>

#define SEMEL_TEXT_OF(x) #x
#define SEMEL_TEXT(x) SEMEL_TEXT_OF(x)

namespace semel {

const char* version() noexcept {
  return SEMEL_TEXT(SEMEL_VERSION_MAJOR) "." SEMEL_TEXT(SEMEL_VERSION_MINOR) "." SEMEL_TEXT(
      SEMEL_VERSION_PATCH);
}

}  // namespace semel

#undef SEMEL_TEXT
#undef SEMEL_TEXT_OF
