#!/bin/sh
# Types of the scripts of the report and of `wattpack ui`. TypeScript comes from npm once, by the lock file, into
# tools/js/node_modules; without npm, or without a network the first time, the check is left out and says so.
set -e
cd "$(dirname "$0")/js"
if [ ! -x node_modules/.bin/tsc ] || [ package-lock.json -nt node_modules/.bin/tsc ]; then
    command -v npm >/dev/null || { echo "check: no npm, the types of the page's scripts are not checked" >&2; exit 0; }
    npm ci --no-audit --no-fund --silent >/dev/null 2>&1 && touch -h node_modules/.bin/tsc || {
        echo "check: TypeScript cannot be fetched, the types of the page's scripts are not checked" >&2
        exit 0
    }
fi
exec node_modules/.bin/tsc -p .
