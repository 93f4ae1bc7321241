// Steps through the service's answers, which may be large: each is passed only once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace semel::sqs {

// Calls `see` for each member of an object, with its name and its value as text; for nothing if
// `object` is not an object. REQUIRES, for all functions here: the text is part of a document that
// json::validate() accepted.
void each_member(std::string_view object,
                 const std::function<void(const std::string& name, std::string_view value)>& see);
// The same for each item of a list.
void each_item(std::string_view list, const std::function<void(std::string_view item)>& see);

// The value of one member; empty if there is none.
std::string_view member_of(std::string_view object, std::string_view name);
// The decoded value of a string; any other scalar as it is written.
std::string text_of(std::string_view value);
// A whole number, also if it is written as a string, as this service does.
std::optional<std::int64_t> number_of(std::string_view value);

}  // namespace semel::sqs
