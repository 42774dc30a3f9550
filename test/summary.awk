# Of results of test files (TAP): those with failures, how many assertions failed and the first, with its subtest; then
# the sum of all.
function shown(text) { sub(/^ *(not ok [0-9]+ - |# Subtest: )/, "", text); return substr(text, 1, 120) }
function number(word) { return match($0, word ": [0-9]+") ? substr($0, RSTART + length(word) + 2) + 0 : 0 }
/^ *# Subtest: / { subtest = shown($0) " > " }
/^ *not ok / && !/# (time=|SKIP|TODO)/ && !failures[FILENAME]++ { first[FILENAME] = subtest shown($0) }
/^# \{ total: / {
    ended[FILENAME] = 1
    total += number("total"); pass += number("pass"); fail += number("fail"); skip += number("skip"); todo += number("todo")
}
END {
    for (at = 1; at < ARGC; at++) {
        name = file = ARGV[at]
        gsub(/^\.tap\/|\.tap$/, "", name)
        if (failures[file]) printf "%s: %d failed, at first\n  %s\n", name, failures[file], first[file]
        else if (!ended[file]) printf "%s did not end\n", name
    }
    printf "1..%d\n# { total: %d, pass: %d, fail: %d, skip: %d, todo: %d }\n", ARGC - 1, total, pass, fail, skip, todo
}
