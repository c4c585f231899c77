# Generated scripts and pictures, read back by Python; BURTORCH_PYTHON names an interpreter that has Matplotlib.
add_executable(script_dump viz/script_dump.cpp)
target_link_libraries(script_dump PRIVATE burtorch::burtorch burtorch_warnings)
add_test(NAME viz_scripts COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${CMAKE_CURRENT_SOURCE_DIR}/viz/scripts.py $<TARGET_FILE:script_dump>)
set_tests_properties(viz_scripts PROPERTIES LABELS full TIMEOUT 900)
