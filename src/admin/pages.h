// The pages of the dashboard that ask the store: each a row of a table, as the routes of the API
// are. They read without JavaScript.
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
  bool has_form = false;  // which a browser may send to this host
  std::chrono::milliseconds patience = Api::kPatience;
  bool acts = false;  // it asks others for something: a link of another site is not followed
};

std::span<const Page> letter_pages() noexcept;
std::span<const Page> one_letter_pages() noexcept;
std::span<const Page> record_pages() noexcept;
std::span<const Page> consumer_pages() noexcept;
std::span<const Page> stuck_pages() noexcept;
std::span<const Page> live_pages() noexcept;
std::span<const Page> run_pages() noexcept;

// The page of the path; null: it is none of them.
const Page* find_page(std::string_view path) noexcept;

// A task, which may wait for the store. `caller`: who looks; what the role may not do is not
// offered.
HttpReply page_reply(const Page& page, const HttpRequest& request, const Caller& caller,
                     const ApiSources& sources);

}  // namespace semel::admin
