// The command line: options in, exit code out. Bad arguments are one line on standard error, 254.
#pragma once

namespace assay {

int command_line(int argc, char** argv);

}  // namespace assay
