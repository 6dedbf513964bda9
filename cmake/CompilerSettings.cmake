# Warnings are errors; every target of ours gets them through inferd_settings.
add_library(inferd_settings INTERFACE)
target_include_directories(inferd_settings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(inferd_settings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-sign-compare)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Mutexes carry thread annotations; Clang checks them.
  target_compile_options(inferd_settings INTERFACE -Wthread-safety)
else()
  # GCC 12 reports false positives through inlined std::string and std::variant code.
  target_compile_options(inferd_settings INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(INFERD_SANITIZE)
  add_compile_options(-fsanitize=${INFERD_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${INFERD_SANITIZE})
  if(INFERD_SANITIZE MATCHES "undefined")
    # A report is a failure, not a line in a log.
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(INFERD_SANITIZE MATCHES "address")
    # The standard library's own bounds checks catch what stays inside an allocation.
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
  endif()
endif()

# What the sanitizers' run-time libraries are told in every test. Not detect_stack_use_after_return:
# GCC 12 keeps vectors of 64 bytes there as if its frames were aligned for them. An allocation no
# memory can hold returns null, as it does without a sanitizer.
set(INFERD_SANITIZER_ENVIRONMENT
  "ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1:strict_string_checks=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/testing/tsan.supp:second_deadlock_stack=1")

# For executables under ThreadSanitizer: see the source.
add_library(absl_thread_sanitizer INTERFACE)
if(INFERD_SANITIZE STREQUAL "thread")
  add_library(absl_thread_sanitizer_objects OBJECT
    ${CMAKE_SOURCE_DIR}/tests/testing/absl_thread_sanitizer.cc)
  target_link_libraries(absl_thread_sanitizer_objects PRIVATE inferd_settings absl::synchronization)
  target_sources(absl_thread_sanitizer INTERFACE $<TARGET_OBJECTS:absl_thread_sanitizer_objects>)
  target_link_libraries(absl_thread_sanitizer INTERFACE absl::synchronization ${CMAKE_DL_LIBS})
endif()

# inferd_library(NAME SOURCES... DEPS...): a static library of ours. Public headers sit beside the
# sources and are included by their path from the top of the tree.
function(inferd_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_SOURCES)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE inferd_settings ${ARG_DEPS})
    return()
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC inferd_settings ${ARG_DEPS})
endfunction()

# What scripts/test builds under a sanitizer: the tests that ask for it.
add_custom_target(asan_checked)
add_custom_target(tsan_checked)

# inferd_test(NAME SOURCES... DEPS... [LABELS...] [SANITIZERS asan tsan] [TIMEOUT s] [ARGS...]): a
# GoogleTest binary, one CTest entry per binary.
# Labels: unit (default; seconds), slow, conformance, e2e, fuzz. SANITIZERS: the presets scripts/test
# also runs it under; asan by default, NONE for neither.
function(inferd_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;SANITIZERS;ARGS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT DEFINED ARG_SANITIZERS)
    set(ARG_SANITIZERS asan)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name}
    PRIVATE inferd_settings absl_thread_sanitizer ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  foreach(sanitizer asan tsan)
    if(sanitizer IN_LIST ARG_SANITIZERS)
      list(APPEND ARG_LABELS ${sanitizer})
      add_dependencies(${sanitizer}_checked ${name})
    endif()
  endforeach()
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${INFERD_SANITIZER_ENVIRONMENT}")
endfunction()
