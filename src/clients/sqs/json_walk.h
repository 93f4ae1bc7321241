// Steps through the service's answers, whose bodies may be large: each is passed once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace semel::sqs {

// Each member of an object, its name and its value as text; nothing where `object` is none.
// REQUIRES, as all here: the text is part of a document that json::validate() found good.
void each_member(std::string_view object,
                 const std::function<void(const std::string& name, std::string_view value)>& see);
// Likewise each item of a list.
void each_item(std::string_view list, const std::function<void(std::string_view item)>& see);

// The value of one member; empty where there is none.
std::string_view member_of(std::string_view object, std::string_view name);
// The meaning of a string; any other scalar as it is written.
std::string text_of(std::string_view value);
// A whole number, also where it is written as a string, as this service does.
std::optional<std::int64_t> number_of(std::string_view value);

}  // namespace semel::sqs
