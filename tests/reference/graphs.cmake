# Random programs and the PyTorch of this machine: graph_dump writes and checks them, torch_live runs the round trip.
add_executable(graph_dump reference/graph_dump.cpp)
target_link_libraries(graph_dump PRIVATE burtorch::compiled burtorch_warnings)
leave_plain(graph_dump)
live_test(torch_live COMMAND ${here}/reference/torch_live.sh $<TARGET_FILE:graph_dump>)
