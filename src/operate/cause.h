// The cause of an end: why the last attempt failed, where the reason only says that it was the last
// one (attempts.exhausted, elapsed.exhausted, outcome.unknown, operator). Pure.
#pragma once

#include <string>
#include <string_view>

namespace semel::operate {

// The reason at the beginning of the error, such as handler.http.500; empty where `reason` is the
// cause itself. The result is a part of `error`.
std::string_view cause_of(std::string_view reason, std::string_view error) noexcept;

// The error of a record that an operator gave up; it keeps the cause.
std::string given_up_text(std::string_view error);

}  // namespace semel::operate
