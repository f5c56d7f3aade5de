#!/bin/sh
# Writes deploy/manifests/*.yaml from the chart, or the same into another folder: deploy/render.sh [FOLDER]
# HELM names the program (default helm). tests/e2e/test_chart.py holds the files in the repository to this.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/manifests}

trap 'rm -f "$folder"/*.yaml.new' EXIT

render() {
    file=$1
    shift
    {
        echo "# deploy/render.sh made this from deploy/chart/wattpack; change it there."
        "${HELM:-helm}" template wattpack "$here/chart/wattpack" --namespace wattpack --kube-version 1.36.4 "$@"
    } >"$folder/$file.new"
    mv "$folder/$file.new" "$folder/$file"
}

render wattpack.yaml
render shadow.yaml --set mode=shadow
render prometheusrule.yaml --set prometheusRule.enabled=true --set sleep.mode=act --set sleep.nodes=pool=gpu \
    --set sleep.power=command --set 'sleep.command.argv[0]=/bin/true' --show-only templates/prometheusrule.yaml
render servicemonitor.yaml --set serviceMonitor.enabled=true --show-only templates/servicemonitor.yaml
