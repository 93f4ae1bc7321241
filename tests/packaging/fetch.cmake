include(FetchContent)
FetchContent_Declare(semel SOURCE_DIR ${SEMEL_FOLDER})
FetchContent_MakeAvailable(semel)
