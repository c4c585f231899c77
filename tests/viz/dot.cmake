# Our DOT and the Graphviz of this machine: dot_dump writes pictures with odd names, dot_live reads them back.
add_executable(dot_dump viz/dot_dump.cpp)
target_link_libraries(dot_dump PRIVATE burtorch::burtorch burtorch_warnings)
add_test(NAME dot_live COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/viz/dot_live.py $<TARGET_FILE:dot_dump>)
set_tests_properties(dot_live PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300)
