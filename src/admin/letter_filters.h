// Dead letters as a request of the API narrows them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/api_route.h"
#include "operate/letters.h"

namespace semel::admin {

// 400: a parameter cannot have that value.
tl::unexpected<HttpResponse> wrong_value(std::string_view name, std::string_view value,
                                         std::string fix);

// 400 where a parameter is empty: otherwise an empty variable of a script would narrow nothing.
std::optional<HttpResponse> refusal_of_empty(const ApiCall& call);

// The filters of a list, its groups and its bulk verbs, without a limit; or what is wrong with
// them. The walk ends before the patience of its client does. Where texts of errors are not shown,
// none is asked about either: the answers would tell them word by word.
tl::expected<operate::LetterQuery, HttpResponse> letter_query(const ApiCall& call,
                                                              const ApiSources& sources);

}  // namespace semel::admin
