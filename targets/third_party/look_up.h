// look_up: the programs of stores that the machine's own packages bring.
#pragma once

#include <string>

namespace assay {

// The absolute path of a program, where the shell would find it: by its path if the name has a
// slash, else in PATH. Empty: nowhere, or it cannot be executed.
std::string look_up(const std::string& program);

}  // namespace assay
