# Build rules shared by every folder: warnings, sanitizers, precompiled headers, one static library per folder, one
# test program per folder.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(Protobuf REQUIRED)
find_package(CLI11 REQUIRED)

set(SPLITNIC_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined")
option(SPLITNIC_COVERAGE "Build with coverage counters" OFF)
option(SPLITNIC_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(SPLITNIC_UNIT_TESTS "Build the unit, protocol, simulator and corpus test programs" ON)
option(SPLITNIC_WERROR "Take warnings as errors, as the presets do" OFF)
set(SPLITNIC_TEST_BATCH 6 CACHE STRING "Test sources per compiler run; 1 is the fastest after an edit of one of them")

# Libraries that splitnic_library() has as INSTALLED are for other programs as well (packaging/library). Another compiler may link
# those, so where gcc optimises programs when it links them, these libraries have machine code next to gcc's own representation.
set(splitnic_has_library ON)
set(splitnic_installed_options)
if(SPLITNIC_SANITIZE OR SPLITNIC_FUZZ OR SPLITNIC_COVERAGE)
  set(splitnic_has_library OFF)
elseif(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_OBJCOPY)
  # Machine code of one source gets warnings of gcc 12 that are false; these are reported where all sources are known, or not at all.
  set(splitnic_installed_options -ffat-lto-objects -Wno-array-bounds -Wno-free-nonheap-object -Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-stringop-overread)
elseif(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  set(splitnic_has_library OFF)
endif()

set(SPLITNIC_LIBRARY_BATCH 1 CACHE STRING "Library sources per compiler run; more is faster when all is built")

# ccache must not compare the time stamp of a precompiled header, nor search it for macros. It reads from the dependency file
# which headers there are (CCACHE_DEPEND), and does not run the preprocessor before each compilation.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(ccache_settings CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
    # Clones share what is compiled. A precompiled header of clang names the files of its clone, so clang's are not shared.
    list(APPEND ccache_settings CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER env ${ccache_settings} ${CCACHE_PROGRAM})
endif()

# lld links a test program in a fraction of the time of GNU ld; LTO of gcc stays with GNU ld and its plugin.
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  add_link_options(-fuse-ld=lld)
endif()

add_library(splitnic_flags INTERFACE)
target_include_directories(splitnic_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(splitnic_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wunused-const-variable
  $<$<BOOL:${SPLITNIC_WERROR}>:-Werror> -fno-strict-aliasing)
target_link_libraries(splitnic_flags INTERFACE Threads::Threads)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # gcc 12 reports a false -Wrestrict on "literal" + std::string at -O3.
  target_compile_options(splitnic_flags INTERFACE -g1 $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  # When it links, gcc 12 takes the empty array of Boost.JSON, which is static, for one that is read and freed.
  target_link_options(splitnic_flags INTERFACE
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread> $<$<CXX_COMPILER_ID:GNU>:-Wno-free-nonheap-object>)
else()
  # At -O1 and with sanitizers gcc 12 warns about moves of std::string and std::function that it inlines in part. The
  # release build has these warnings.
  set(doubtful -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  target_compile_options(splitnic_flags INTERFACE "$<$<CXX_COMPILER_ID:GNU>:${doubtful}>")
endif()
# What makes a bug in memory hard to use: a position-independent program whose tables of addresses are read-only, stacks
# with canaries and without jumps over their guard page, checked calls of libc. -fPIE, because -fPIC would not inline
# functions that another library could replace. -ftrivial-auto-var-init is left out: the data path has arrays of 32 KiB
# on its stack, of which it uses a part.
target_compile_options(splitnic_flags INTERFACE -fPIE -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(splitnic_flags INTERFACE -fcf-protection)
endif()
target_link_options(splitnic_flags INTERFACE -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT SPLITNIC_SANITIZE)
  target_compile_definitions(splitnic_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
if(SPLITNIC_SANITIZE)
  target_compile_options(splitnic_flags INTERFACE -fsanitize=${SPLITNIC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(splitnic_flags INTERFACE -fsanitize=${SPLITNIC_SANITIZE})
  if(SPLITNIC_SANITIZE MATCHES undefined)
    target_compile_options(splitnic_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
  if(SPLITNIC_SANITIZE MATCHES address)
    # gcc defines it without being asked.
    target_compile_definitions(splitnic_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:__SANITIZE_ADDRESS__>)
  endif()
  if(SPLITNIC_SANITIZE MATCHES thread)
    # TSan does not model fences; Asio's are only needed between its own queues.
    target_compile_definitions(splitnic_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK
                               $<$<CXX_COMPILER_ID:Clang>:__SANITIZE_THREAD__>)
    target_compile_options(splitnic_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()
# What guides libFuzzer is only in the libraries that its targets drive. It would make the tests' own code, which is not
# optimised, half as fast.
set(splitnic_library_options)
if(SPLITNIC_FUZZ)
  set(splitnic_library_options -fsanitize=fuzzer-no-link)
  target_link_options(splitnic_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SPLITNIC_COVERAGE)
  target_compile_options(splitnic_flags INTERFACE --coverage)
  target_link_options(splitnic_flags INTERFACE --coverage)
endif()

# Two precompiled headers: one of the standard headers that most sources include, for libraries and programs, and one
# with GoogleTest, for the tests. A source still includes what it uses: tests/tidy/used_names.h checks it, since these
# headers and batches of sources hide a missing include.
set(splitnic_common_headers
  <algorithm> <array> <bit> <cerrno> <chrono> <cstddef> <cstdint> <cstring> <deque> <functional> <map> <memory>
  <optional> <span> <string> <string_view> <utility> <vector> <boost/system/result.hpp> <cmake/formatting.h>)

# splitnic_precompiled_header(NAME HEADERS headers... [OPTIONS options...]): a library whose precompiled header others
# take with REUSE_FROM. They must be compiled with the same options.
function(splitnic_precompiled_header name)
  cmake_parse_arguments(arg "" "" "HEADERS;OPTIONS" ${ARGN})
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${name} PRIVATE splitnic_flags Boost::headers fmt::fmt)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
splitnic_precompiled_header(splitnic_headers HEADERS ${splitnic_common_headers} OPTIONS ${splitnic_library_options})

# Where programs are optimised when they are linked, each program compiles its libraries once more. A library that is
# OFF_DATA_PATH, with no code that runs per frame or cell, is compiled once, for all programs. No fuzz target drives one.
# In the presets check, asan and tsan it is built quickly rather than made fast, as the tests' own code is.
set(splitnic_unoptimized -O0 -U_FORTIFY_SOURCE)
set(splitnic_cold_headers splitnic_headers)
set(splitnic_cold_options)
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  set(splitnic_cold_options -O2 -fno-lto)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug" AND CMAKE_CXX_FLAGS_DEBUG MATCHES "-O1")
  set(splitnic_cold_options ${splitnic_unoptimized})
endif()
if(splitnic_cold_options OR SPLITNIC_FUZZ)
  set(splitnic_cold_headers splitnic_headers_off_data_path)
  splitnic_precompiled_header(${splitnic_cold_headers} HEADERS ${splitnic_common_headers} OPTIONS ${splitnic_cold_options})
endif()

# splitnic_batches(NAME SIZE): the compiler takes SIZE sources of a target in one run, by a generated source that includes them. It
# has their paths from the root, which are the same in each clone, so that clones share the object by ccache. A source that has the
# property SPLITNIC_ALONE before this call is compiled alone.
function(splitnic_batches name size)
  if(size LESS_EQUAL 1)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  set(compiled)
  set(includes)
  foreach(source ${sources})
    get_source_file_property(is_alone ${source} SPLITNIC_ALONE)
    if(is_alone)
      list(APPEND compiled ${source})
    else()
      cmake_path(ABSOLUTE_PATH source)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(APPEND includes "#include \"${source}\"\n")
    endif()
  endforeach()
  list(LENGTH includes count)
  math(EXPR last "${count} - 1")
  foreach(first RANGE 0 ${last} ${size})
    list(SUBLIST includes ${first} ${size} batch)
    list(JOIN batch "" text)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${name}_${first}.cc)
    file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
    list(APPEND compiled ${path})
  endforeach()
  set_target_properties(${name} PROPERTIES SOURCES "${compiled}")
endfunction()

# How the sources of a library, or of a program that is no test, are compiled.
function(splitnic_compile name)
  target_compile_options(${name} PRIVATE ${splitnic_library_options})
  target_precompile_headers(${name} REUSE_FROM splitnic_headers)
  splitnic_batches(${name} ${SPLITNIC_LIBRARY_BATCH})
endfunction()

function(splitnic_compile_off_data_path name)
  target_compile_options(${name} PRIVATE ${splitnic_cold_options})
  target_precompile_headers(${name} REUSE_FROM ${splitnic_cold_headers})
  splitnic_batches(${name} ${SPLITNIC_LIBRARY_BATCH})
endfunction()

# splitnic_library(NAME [OFF_DATA_PATH] [INSTALLED] [DEPENDS libs...] [EXCLUDE patterns...]): every .cc of this folder (and of its
# sub-folders that have no own CMakeLists.txt), except main.cc. Other programs get its objects and headers if it is INSTALLED.
function(splitnic_library name)
  cmake_parse_arguments(arg "OFF_DATA_PATH;INSTALLED" "" "DEPENDS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  foreach(pattern ${arg_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC splitnic_flags ${arg_DEPENDS})
  if(arg_OFF_DATA_PATH)
    splitnic_compile_off_data_path(${name})
  else()
    splitnic_compile(${name})
  endif()
  if(arg_INSTALLED)
    target_compile_options(${name} PRIVATE ${splitnic_installed_options})
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
    set_property(GLOBAL APPEND PROPERTY splitnic_installed_folders ${folder})
    set_property(GLOBAL APPEND PROPERTY splitnic_installed_objects $<TARGET_OBJECTS:${name}>)
  endif()
endfunction()

# splitnic_tests(NAME FOLDER [NO_RECURSE] [OPTIMIZED] [COST seconds] [DEPENDS libs...] [DEFINITIONS definitions...]
# [LABELS labels...]): one program of every *_test.cc below tests/FOLDER. ctest knows each test by its own name; its labels are the given
# ones (unit if there are none), gtest and NAME. The target thread_tests builds all programs with the label threads.
# The libraries under test are built as the preset defines; the tests' own code is built quickly rather than made fast, unless
# the program is OPTIMIZED. The programs of the highest COST, that of their longest test in the step asan, begin.
if(BUILD_TESTING)
  include(GoogleTest)
  find_package(GTest REQUIRED)
endif()
if(BUILD_TESTING AND SPLITNIC_UNIT_TESTS)
  splitnic_precompiled_header(splitnic_test_headers HEADERS ${splitnic_common_headers} <gmock/gmock.h>
    OPTIONS ${splitnic_unoptimized})
  target_link_libraries(splitnic_test_headers PRIVATE GTest::gmock)
endif()
add_custom_target(thread_tests)

function(splitnic_tests name folder)
  if(NOT SPLITNIC_UNIT_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "NO_RECURSE;OPTIMIZED" "COST" "DEPENDS;DEFINITIONS;LABELS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: splitnic_tests() does not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_NO_RECURSE)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cc)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cc)
  endif()
  if(NOT sources)
    message(FATAL_ERROR "${name}: there is no *_test.cc in tests/${folder}")
  endif()
  foreach(dependency ${arg_DEPENDS})
    if(NOT TARGET ${dependency})
      message(FATAL_ERROR "${name}: its dependency ${dependency} is no target")
    endif()
  endforeach()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(${name} ${sources})
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  target_link_libraries(${name} PRIVATE splitnic_flags ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  if(arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O2)
  else()
    target_compile_options(${name} PRIVATE ${splitnic_unoptimized})
    target_precompile_headers(${name} REUSE_FROM splitnic_test_headers)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  splitnic_batches(${name} ${SPLITNIC_TEST_BATCH})
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(thread_tests ${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY splitnic_test_folders "${folder}=${name}")
  if(NOT arg_COST)
    set(arg_COST 0)
  endif()
  gtest_discover_tests(${name} PROPERTIES TIMEOUT 300 COST ${arg_COST} DISCOVERY_TIMEOUT 60)
  # gtest_discover_tests() takes no list as the value of a property.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} @ONLY CONTENT
    "if(@name@_TESTS)\n  set_tests_properties(\${@name@_TESTS} PROPERTIES LABELS \"@arg_LABELS@;gtest;@name@\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

# Writes tests/folders.txt of the build: one line "FOLDER PROGRAM" per test program, for scripts/test.sh FOLDER.
function(splitnic_write_test_folders)
  get_property(folders GLOBAL PROPERTY splitnic_test_folders)
  list(TRANSFORM folders REPLACE "=" " ")
  list(JOIN folders "\n" text)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/folders.txt CONTENT "${text}\n")
endfunction()
