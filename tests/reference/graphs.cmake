# Random programs and the PyTorch of this machine: graph_dump writes and checks them, torch_live runs the round trip.
add_executable(graph_dump reference/graph_dump.cpp)
target_link_libraries(graph_dump PRIVATE burtorch::burtorch burtorch_warnings)
add_test(NAME torch_live COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/reference/torch_live.sh $<TARGET_FILE:graph_dump>)
set_tests_properties(torch_live PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 600)
