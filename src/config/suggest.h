// The word that was meant, if one is near.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace semel::config {

// The nearest of `known`; nullopt where none is near enough to be a typing error.
std::optional<std::string> nearest(std::string_view written,
                                   std::span<const std::string_view> known);

}  // namespace semel::config
