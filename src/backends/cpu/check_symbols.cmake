# Fails if OBJECT, compiled for an instruction set that not every machine has, defines a weak function whose name lacks
# OWNER: the linker may keep that copy for the whole program, which then dies on a machine without the instructions.
execute_process(COMMAND ${NM} --defined-only ${OBJECT} OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} can not read ${OBJECT}.")
endif()
string(REGEX MATCHALL "[^\n]* [WuT] [^\n]*" functions "${symbols}")
if(NOT functions)
  message(FATAL_ERROR "${OBJECT} defines no functions: the check looks at the wrong file.")
endif()
foreach(line IN LISTS functions)
  if(line MATCHES " [Wu] " AND NOT line MATCHES "${OWNER}")
    message(FATAL_ERROR "${OBJECT} defines a function that others may define too, \
make it always_inline or a member of a template over ${OWNER}: ${line}")
  endif()
endforeach()
