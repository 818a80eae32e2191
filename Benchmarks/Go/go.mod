module benchmarks

go 1.19
