// The pages of the dashboard that ask the store: each a row of a table, like the routes of the API.
// They are readable without JavaScript.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "admin/api_route.h"
#include "admin/http_message.h"

namespace semel::admin {

struct Page {
  std::string_view path;
  std::span<const QueryParameter> query;
  HttpResponse (*show)(const ApiCall& call, const ApiSources& sources);
  bool has_form = false;  // which a browser may submit to this host
  std::chrono::milliseconds patience = Api::kPatience;
  bool acts = false;  // it contacts other servers: links from other sites are refused
};

std::span<const Page> letter_pages() noexcept;
std::span<const Page> one_letter_pages() noexcept;
std::span<const Page> record_pages() noexcept;
std::span<const Page> consumer_pages() noexcept;
std::span<const Page> stuck_pages() noexcept;
std::span<const Page> live_pages() noexcept;
std::span<const Page> run_pages() noexcept;

// The page of the path; null: there is none.
const Page* find_page(std::string_view path) noexcept;

// A task, which may wait for the store. `caller`: the reader; acts that its role forbids are not
// offered.
HttpReply page_reply(const Page& page, const HttpRequest& request, const Caller& caller,
                     const ApiSources& sources);

}  // namespace semel::admin
