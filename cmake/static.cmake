# Programs that need no library but glibc's; a static glibc could not load the CUDA driver. Debian has no archive of fmt.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_link_options(-static-libstdc++ -static-libgcc)
add_library(tacet_fmt STATIC cmake/fmt.cpp)
target_compile_definitions(tacet_fmt PUBLIC FMT_SHARED)  # as with Debian's: the cache's objects are the same
add_library(fmt::fmt ALIAS tacet_fmt)
