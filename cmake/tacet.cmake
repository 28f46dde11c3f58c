# What every target of the project is built with, and one way to declare each kind of target.

find_program(TACET_CCACHE ccache)
if(TACET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TACET_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TACET_CCACHE})
endif()

# Where the tests find tests/data and models. A copy of the sources (scripts/mutate) names the original tree.
set(TACET_DATA_ROOT ${PROJECT_SOURCE_DIR} CACHE PATH "The tree with tests/data and models")

add_library(tacet_options INTERFACE)
target_include_directories(tacet_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tacet_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
  target_compile_options(tacet_options INTERFACE -Wno-restrict)
endif()
# One compiler contracts a * b + c and another does not; results must not depend on that.
target_compile_options(tacet_options INTERFACE -ffp-contract=off)
if(TACET_SANITIZE OR TACET_FUZZ)
  target_compile_definitions(tacet_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(TACET_SANITIZE)
  target_compile_options(tacet_options INTERFACE
    -fsanitize=${TACET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(tacet_options INTERFACE -fsanitize=${TACET_SANITIZE})
endif()
if(TACET_FUZZ)
  target_compile_options(tacet_options INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -g1)
  target_link_options(tacet_options INTERFACE -fsanitize=address,undefined)
endif()

# Links `target` with each dependency. A name without "::" is a folder of src/.
function(tacet_depends target visibility)
  foreach(dependency IN LISTS ARGN)
    if(dependency MATCHES "::")
      target_link_libraries(${target} ${visibility} ${dependency})
    else()
      target_link_libraries(${target} ${visibility} tacet_${dependency})
    endif()
  endforeach()
endfunction()

# tacet_library(base SOURCES a.cpp b.cpp DEPENDS types fmt::fmt): the static library tacet_base.
function(tacet_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(tacet_${name} STATIC ${arg_SOURCES})
  target_link_libraries(tacet_${name} PUBLIC tacet_options)
  tacet_depends(tacet_${name} PUBLIC ${arg_DEPENDS})
endfunction()

# tacet_archive(tacet_cpp ROOT runtime): one static library of all that the library ROOT depends on, itself included.
function(tacet_archive name)
  cmake_parse_arguments(arg "" "ROOT" "" ${ARGN})
  set(open tacet_${arg_ROOT})
  set(objects)
  set(seen)
  while(open)
    list(POP_FRONT open target)
    if(target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "STATIC_LIBRARY")
      continue()
    endif()
    # With the object libraries among its sources.
    get_target_property(parts ${target} SOURCES)
    list(FILTER parts INCLUDE REGEX "TARGET_OBJECTS")
    list(APPEND objects $<TARGET_OBJECTS:${target}> ${parts})
    get_target_property(dependencies ${target} INTERFACE_LINK_LIBRARIES)
    list(FILTER dependencies INCLUDE REGEX "^tacet_")
    list(APPEND open ${dependencies})
  endwhile()
  add_library(${name} STATIC ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# tacet_tool(tacet SOURCES main.cpp DEPENDS runtime): the program tacet, in the root of the build folder; installed in bin.
function(tacet_tool name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tacet_options)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  tacet_depends(${name} PRIVATE ${arg_DEPENDS})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# The targets that the tests with the label `sanitize` need; all that a sanitizer preset builds in ./dev test.
add_custom_target(sanitize_tests)

# Adds the ctest `name` (its command follows COMMAND) with the project's defaults: a TIMEOUT of 120 seconds (four times as
# long under a sanitizer), exit code 77 means skipped. Label it `sanitize` to run it under the sanitizers too, and
# `no_threads` if that of threads has nothing to find in it.
function(tacet_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(TACET_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/reports/${name}.xml")
endfunction()

# tacet_test(stop SOURCES stop.cpp DEPENDS base LABELS sanitize TIMEOUT 300): the test program test_stop, run by ctest
# under the name stop.
function(tacet_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE tacet_options GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE TACET_BUILT_DATA_ROOT="${TACET_DATA_ROOT}")
  tacet_depends(test_${name} PRIVATE ${arg_DEPENDS})
  tacet_add_test(${name} COMMAND test_${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
  if("sanitize" IN_LIST arg_LABELS AND NOT (TACET_SANITIZE STREQUAL "thread" AND "no_threads" IN_LIST arg_LABELS))
    add_dependencies(sanitize_tests test_${name})
  endif()
endfunction()

add_custom_target(fuzzers)

# tacet_fuzzer(gguf SOURCES gguf.cpp DEPENDS formats): in the preset fuzz the libFuzzer program fuzz_gguf; in all others the
# ctest fuzz_gguf, which replays every file of tests/fuzz/corpus/gguf through the same entry point.
function(tacet_fuzzer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target fuzz_${name})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE tacet_options)
  tacet_depends(${target} PRIVATE ${arg_DEPENDS})
  if(TACET_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${target})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  else()
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cpp)
    tacet_add_test(${target} LABELS sanitize
      COMMAND ${target} ${TACET_DATA_ROOT}/tests/fuzz/corpus/${name})
    add_dependencies(sanitize_tests ${target})
  endif()
endfunction()
