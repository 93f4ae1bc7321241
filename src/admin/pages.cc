#include "admin/pages.h"

#include <utility>

#include "admin/page_parts.h"
#include "admin/problem.h"

namespace semel::admin {

const Page* find_page(std::string_view path) noexcept {
  for (const std::span<const Page> pages :
       {letter_pages(), one_letter_pages(), record_pages(), consumer_pages(), stuck_pages(),
        live_pages(), run_pages()}) {
    for (const Page& page : pages) {
      if (page.path == path) return &page;
    }
  }
  return nullptr;
}

HttpReply page_reply(const Page& page, const HttpRequest& request, const Caller& caller,
                     const ApiSources& sources) {
  auto query = query_for(page.query, request);
  if (!query) return page::readable(std::move(query.error()));
  HttpTask task;
  task.run = [&page, &sources, call = ApiCall{caller, {}, *std::move(query), {}, {}}] {
    return page::readable(page.show(call, sources));
  };
  task.patience = page.patience;
  const Error waits{ErrorKind::kUnavailable, "R345", "the store did not answer in time",
                    "look at /readyz: is the store away?"};
  task.refused = task.late = page::readable(problem(503, waits));
  return task;
}

}  // namespace semel::admin
