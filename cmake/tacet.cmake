# What every target of the project is built with, and one way to declare each kind of target.

add_library(tacet_options INTERFACE)
target_include_directories(tacet_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tacet_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror)
# One compiler contracts a * b + c and another does not; results must not depend on that.
target_compile_options(tacet_options INTERFACE -ffp-contract=off)
target_compile_definitions(tacet_options INTERFACE FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL)
if(TACET_SANITIZE)
  target_compile_options(tacet_options INTERFACE
    -fsanitize=${TACET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(tacet_options INTERFACE -fsanitize=${TACET_SANITIZE})
endif()
if(TACET_FUZZ)
  target_compile_options(tacet_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -g1)
  target_link_options(tacet_options INTERFACE -fsanitize=address,undefined)
endif()

# tacet_library(base SOURCES a.cpp b.cpp DEPENDS types fmt::fmt): the static library tacet_base. A name without
# "::" is a folder of src/.
function(tacet_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(tacet_${name} STATIC ${arg_SOURCES})
  target_link_libraries(tacet_${name} PUBLIC tacet_options)
  foreach(dependency IN LISTS arg_DEPENDS)
    if(dependency MATCHES "::")
      target_link_libraries(tacet_${name} PUBLIC ${dependency})
    else()
      target_link_libraries(tacet_${name} PUBLIC tacet_${dependency})
    endif()
  endforeach()
endfunction()

# tacet_test(stop SOURCES stop.cpp DEPENDS base): the test program test_stop, run by ctest under the name stop.
function(tacet_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE tacet_options GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE
    TACET_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" TACET_MODELS="${PROJECT_SOURCE_DIR}/models")
  foreach(dependency IN LISTS arg_DEPENDS)
    if(dependency MATCHES "::")
      target_link_libraries(test_${name} PRIVATE ${dependency})
    else()
      target_link_libraries(test_${name} PRIVATE tacet_${dependency})
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND test_${name})
endfunction()
