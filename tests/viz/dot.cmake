# Our DOT and the Graphviz of this machine: dot_dump writes pictures with odd names, dot_live reads them back.
add_executable(dot_dump viz/dot_dump.cpp)
target_link_libraries(dot_dump PRIVATE burtorch::compiled burtorch_warnings)
leave_plain(dot_dump)
live_test(dot_live COMMAND ${python} ${here}/viz/dot_live.py $<TARGET_FILE:dot_dump>)
