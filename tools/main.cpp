#include "tools/command_line.h"

int main(int argc, char** argv) { return mlaindex::tools::run_command_line(argc, argv); }
