// The filters for dead letters in a request of the API.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/api_route.h"
#include "operate/letters.h"

namespace semel::admin {

// 400: the parameter cannot have this value.
tl::unexpected<HttpResponse> wrong_value(std::string_view name, std::string_view value,
                                         std::string fix);

// 400 where a parameter is empty: otherwise a script's empty variable would filter nothing.
std::optional<HttpResponse> refusal_of_empty(const ApiCall& call);

// The filters of a list, its groups and its bulk verbs, without a limit; or what is wrong with
// them. The walk ends before the client's timeout. If error texts are hidden, they cannot be
// filtered either: the answers would reveal them word by word.
tl::expected<operate::LetterQuery, HttpResponse> letter_query(const ApiCall& call,
                                                              const ApiSources& sources);

}  // namespace semel::admin
