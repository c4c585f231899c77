// Nothing: CMake wants a source for the target whose precompiled header all tests share.
