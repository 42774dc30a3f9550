# Of results of test files (TAP) those with failures: how many assertions failed, and the first, with its subtest.
function shown(text) { sub(/^ *(not ok [0-9]+ - |# Subtest: )/, "", text); return substr(text, 1, 120) }
/^ *# Subtest: / { subtest = shown($0) " > " }
/^ *not ok / && !/# time=/ && !failures[FILENAME]++ { first[FILENAME] = subtest shown($0) }
END {
    for (file in failures) {
        name = file
        gsub(/^.tap.test-results.|.tap$/, "", name)
        printf "%s: %d failed, at first\n  %s\n", name, failures[file], first[file]
    }
}
