// For builds without HTTP: traces cannot be exported.
#include "core/not_built.h"
#include "traces/span_post.h"

namespace semel::traces {

Result<std::unique_ptr<SpanPost>> make_http_post(const core::TracesSpec&) {
  return failure(core::not_built("traces", "HTTP"));
}

}  // namespace semel::traces
