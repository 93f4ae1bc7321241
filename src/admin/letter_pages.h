// The dashboard's pages about dead letters: their groups, those of a filter with what a replay of
// them would do, and the jobs that work on them. They read without JavaScript.
#pragma once

#include <optional>
#include <string_view>

#include "admin/api.h"
#include "admin/http_message.h"

namespace semel::admin {

// The answer for one of the pages; nullopt: the path is none of them. A task, which may wait for
// the store. `caller`: who looks; what the role may not do is not offered.
std::optional<HttpReply> letter_page(const HttpRequest& request, const Caller& caller,
                                     const ApiSources& sources);

// An error of the API, for people.
HttpResponse readable(HttpResponse problem);

// The script of their buttons, at act.js.
std::string_view act_script() noexcept;

}  // namespace semel::admin
