# Build rules shared by every folder: warnings, sanitizers, one static library a folder, one test program a folder.

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

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(splitnic_flags INTERFACE)
target_include_directories(splitnic_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(splitnic_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wunused-const-variable
  -Werror -fno-strict-aliasing)
target_link_libraries(splitnic_flags INTERFACE Threads::Threads)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # gcc 12 reports a false -Wrestrict on "literal" + std::string at -O3.
  target_compile_options(splitnic_flags INTERFACE -g1 $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endif()
if(SPLITNIC_SANITIZE)
  # gcc 12 with -fsanitize reports members of std::function as uninitialised, in <regex> of all places.
  target_compile_options(splitnic_flags INTERFACE -fsanitize=${SPLITNIC_SANITIZE} -fno-omit-frame-pointer
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(splitnic_flags INTERFACE -fsanitize=${SPLITNIC_SANITIZE})
  if(SPLITNIC_SANITIZE MATCHES undefined)
    target_compile_options(splitnic_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
  if(SPLITNIC_SANITIZE MATCHES thread)
    # gcc 12's TSan does not model fences; Asio's are only needed between its own queues.
    target_compile_definitions(splitnic_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    target_compile_options(splitnic_flags INTERFACE -Wno-tsan)
  endif()
endif()
if(SPLITNIC_FUZZ)
  target_compile_options(splitnic_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(splitnic_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SPLITNIC_COVERAGE)
  target_compile_options(splitnic_flags INTERFACE --coverage)
  target_link_options(splitnic_flags INTERFACE --coverage)
endif()

# splitnic_library(NAME [DEPENDS libs...]): every .cc of this folder (and of its sub-folders that have
# no CMakeLists.txt of their own), except main.cc.
function(splitnic_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  foreach(pattern ${arg_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC splitnic_flags ${arg_DEPENDS})
endfunction()

# splitnic_tests(NAME FOLDER [DEPENDS libs...] [LABELS labels...]): one program of every *_test.cc below
# tests/FOLDER; ctest knows each test by its own name.
include(GoogleTest)
find_package(GTest REQUIRED)
function(splitnic_tests name folder)
  cmake_parse_arguments(arg "NO_RECURSE" "" "DEPENDS;LABELS" ${ARGN})
  if(arg_NO_RECURSE)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cc)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cc)
  endif()
  if(NOT sources)
    return()
  endif()
  foreach(dependency ${arg_DEPENDS})
    if(NOT TARGET ${dependency} AND NOT dependency MATCHES "::")
      return()
    endif()
  endforeach()
  # An empty value would vanish from the list of properties, and its name take the next one.
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE splitnic_flags ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # The libraries under test are what the preset says; the tests' own code is built quickly rather than made fast.
  target_compile_options(${name} PRIVATE -O0)
  gtest_discover_tests(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()
