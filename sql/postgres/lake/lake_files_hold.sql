-- Until the transaction ends no file is listed or retired.
lock table lake_file in share mode
