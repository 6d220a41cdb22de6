// The texts of harness/experiments/*.json, as the build put them into the program (cmake/embed.cmake).
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// File name and text, in the order of the names.
const std::vector<std::pair<std::string_view, std::string_view>>& experiment_files();

}  // namespace assay
