#!/bin/sh
# Brings .venv up to one of the locked sets: tools/setup.sh core|serve|dev|distributed
# Does nothing when the set is in place. What is in place is known by content, not by time: .venv/.have
# holds a copy of every lock file installed. .venv/.unfinished stands while something is being installed; a set-up that
# finds it there was interrupted, and starts afresh. PYTHON names the interpreter (default python3).
set -eu

set_name=$1
python=${PYTHON:-python3}
venv=.venv
lock=locks/$set_name.txt

# Settings of the caller that would make pip install elsewhere, or Python run without its compiled files.
unset PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX 2>/dev/null || true

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

usable() {  # whole, its interpreter there, and not moved since (scripts in it hold absolute paths)
    [ ! -e $venv/.unfinished ] && [ -x $venv/bin/python ] && [ -d $venv/.have ] && [ "$(cat $venv/.have/place 2>/dev/null)" = "$(pwd -P)" ]
}

make_venv() {
    command -v "$python" >/dev/null 2>&1 || die "no '$python' found; wattpack needs Python 3.11 or newer (make ... PYTHON=/path/to/python3)"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2], int(sys.version_info >= (3, 11)))') || die "'$python' does not run"
    [ "${version#* }" = 1 ] || die "wattpack needs Python 3.11 or newer, '$python' is ${version% *}; name another: make ... PYTHON=python3.12"
    [ ! -e $venv ] || [ -e $venv/.unfinished ] || [ -d $venv/.have ] || die "$venv exists and was not made here; move it away or remove it"
    [ ! -e $venv ] || say "$venv was left unfinished, or was moved: making it again"
    rm -rf $venv
    mkdir -p $venv/.have
    : >$venv/.unfinished
    say "making $venv with Python ${version% *}"
    "$python" -m venv $venv >$venv/.log 2>&1 ||
        { cat $venv/.log >&2; die "'$python' cannot make a virtual environment (on Debian and Ubuntu: apt install python3-venv)"; }
    pwd -P >$venv/.have/place
}

install_locked() {
    case $set_name in
        core) what='numba, matplotlib, duckdb (30-120 s, once)' ;;
        serve) what='numba, matplotlib, duckdb, aiohttp (30-120 s, once)' ;;
        dev) what='numba, matplotlib, duckdb, pytest, mypy, ruff (30-180 s, once)' ;;
        *) what='all of dev, dask and ray (60-240 s, once)' ;;
    esac
    say "installing $what"
    # Measured on 2 cores: pip compiling by itself 21 s; --no-compile 11 s and compileall without the packages' own tests 5 s.
    $venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: \
        --no-compile --requirement "$lock" || die "installing $lock failed; run it again when the cause above is gone"
    # As a module: worker processes that are not forked (macOS, Python 3.12 on) cannot import a script from standard input.
    $venv/bin/python -m compileall -qq -j 0 -x '[/\\](tests?|pip|mpl_toolkits)[/\\]' $venv/lib || true
}

install_package() {
    $venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-build-isolation --editable . ||
        die "installing wattpack itself failed"
}

usable || make_venv
if ! cmp -s "$lock" "$venv/.have/$set_name.txt"; then
    : >$venv/.unfinished
    install_locked
    for part in core serve dev distributed; do  # each set holds those before it
        cp "locks/$part.txt" "$venv/.have/$part.txt"
        [ "$part" != "$set_name" ] || break
    done
fi
if ! cmp -s pyproject.toml $venv/.have/pyproject.toml; then
    : >$venv/.unfinished
    install_package
    cp pyproject.toml $venv/.have/pyproject.toml
fi
rm -f $venv/.unfinished
# The first command would else compile for half a minute. Developers' sets do without: their sources change all the time.
if [ "$set_name" = core ]; then
    $venv/bin/python tools/ship_kernels.py --first || say "no kernels compiled ahead; the first command compiles them"
fi
