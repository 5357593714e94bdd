// What was made of a kernel as files, for people to read, compare and change.
#pragma once

#include <filesystem>
#include <string>

#include "generator/base/result.h"
#include "runtime/file.h"
#include "runtime/kernel_store.h"

namespace mlaindex {

// "<kernel name>-<key>": the name of a kernel's files in dump and override folders, less the suffix.
std::string kernel_file_stem(const CompiledKernel& kernel);

// Writes <stem>.cu, .ptx, .cubin and .report.txt (what each pass did and found) into the folder, each
// whole or not at all, replacing what is there; makes the folder when missing. Errors: those of the
// generator, the passes and the files.
Status dump_kernel(const CompiledKernel& kernel, const std::filesystem::path& folder, const FileSystem& files);

}  // namespace mlaindex
