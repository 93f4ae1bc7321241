// The query protocol of Amazon's older services: requests are forms, answers XML. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace semel::sqs {

// As a form writes it: all but letters, digits and -_.~ in percent.
std::string form_encoded(std::string_view text);

// The text between the first <name> and its end, as it is written; empty where there is none.
// Elements do not contain others of their own name.
std::string_view between_tags(std::string_view xml, std::string_view name);
// Each of them in turn.
void each_between(std::string_view xml, std::string_view name,
                  const std::function<void(std::string_view content)>& see);
// A text that holds no elements, without its escapes.
std::string xml_text(std::string_view written);

}  // namespace semel::sqs
