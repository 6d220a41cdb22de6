// Where something is in a file.
#pragma once

#include <cstddef>

namespace assay {

// Both from 1, columns in bytes.
struct Place {
  size_t line = 1;
  size_t column = 1;
};

}  // namespace assay
