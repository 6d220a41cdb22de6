#include "harness/cli/cli.h"

int main(int argc, char** argv) { return assay::command_line(argc, argv); }
