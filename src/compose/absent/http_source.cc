// For builds without the HTTP source.
#include "core/not_built.h"
#include "sources/http/make_http_source.h"

namespace semel::sources {

Result<std::unique_ptr<Source>> make_http_source(core::HttpSourceSpec, Environment&) {
  return failure(core::not_built("the HTTP source", "HTTP_SOURCE"));
}

Result<void> check_http_source(const core::HttpSourceSpec&) {
  return failure(core::not_built("the HTTP source", "HTTP_SOURCE"));
}

}  // namespace semel::sources
