# Writes a C++ file that holds every template (or route table) of a folder as text. Run as a script:
#   cmake -DTEMPLATES=<folder> -DOUTPUT=<file.cpp> [-DFUNCTION=<its accessor>] -P EmbedTemplates.cmake
if(NOT DEFINED FUNCTION)
  set(FUNCTION all_templates)
endif()
file(GLOB_RECURSE paths RELATIVE ${TEMPLATES} ${TEMPLATES}/*.cu ${TEMPLATES}/*.cuh ${TEMPLATES}/*.routes)
list(SORT paths)
set(entries "")
foreach(path IN LISTS paths)
  file(READ ${TEMPLATES}/${path} text)
  string(APPEND entries "    {\"${path}\", R\"template(${text})template\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "#include \"generator/templates.h\"

namespace mlaindex {

std::span<const Template> ${FUNCTION}() noexcept {
  static constexpr Template templates[] = {
${entries}  };
  return templates;
}

}  // namespace mlaindex
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
