#!/usr/bin/env bash
# Builds the control plane the e2e tests run on (etcd and the three programs of Kubernetes) and helm from source, once, into
# the user's cache, and prints the folder. A binary that is there is not built again, and one appears only when it is
# whole: it is built under a temporary name and renamed. A cold build takes about 12 minutes on two cores, a warm one
# a second. Nothing here is ever committed: go.mod and go.sum pin what is built, to the hash.
#
#   tools/controlplane/build.sh                 everything
#   tools/controlplane/build.sh etcd helm       only these
#   KUBEBUILDER_ASSETS=DIR ...                  binaries somebody already has: used as they are, nothing is built
#   WATTPACK_CACHE=DIR ...                      another cache folder
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
helm_version=v3.22.0
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    names=(etcd kube-apiserver kube-scheduler)
    [ -n "${KUBEBUILDER_ASSETS:-}" ] || names+=(kube-controller-manager helm) # these are none of the kubebuilder assets
fi

if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ "${names[*]}" != helm ]; then
    for name in "${names[@]}"; do
        [ -x "$KUBEBUILDER_ASSETS/$name" ] || { echo "build.sh: KUBEBUILDER_ASSETS has no $name" >&2; exit 1; }
    done
    echo "$KUBEBUILDER_ASSETS"
    exit 0
fi

# The digest is over what decides the binaries' contents: another go.sum or helm is another folder, never a mix of both.
digest=$({ cat "$here/go.sum"; echo "helm $helm_version"; } | sha256sum | cut -c1-12)
folder="${WATTPACK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}/wattpack/controlplane-$digest"

missing=()
for name in "${names[@]}"; do
    [ -x "$folder/$name" ] || missing+=("$name")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "$folder"
    exit 0
fi
if ! command -v go >/dev/null; then
    echo "build.sh: Go is not installed (1.26 or newer), and without KUBEBUILDER_ASSETS it has to build ${missing[*]}" >&2
    exit 1
fi

mkdir -p "$folder"
scratch=$(mktemp -d "$folder/.building-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$here"
kubernetes_version=$(awk '$1 == "k8s.io/kubernetes" {print $2}' go.mod)
IFS=. read -r major minor _ <<<"${kubernetes_version#v}"
version_package=k8s.io/component-base/version
# kube-apiserver refuses to start without its own version, which Kubernetes' own build passes in the same way.
linker_flags="-s -w -X $version_package.gitVersion=$kubernetes_version -X $version_package.gitMajor=$major"
linker_flags+=" -X $version_package.gitMinor=$minor -X $version_package.gitTreeState=clean"
export CGO_ENABLED=0

build() {
    nice -n 10 go build -mod=readonly -buildvcs=false -trimpath -ldflags "$linker_flags" -o "$scratch/$1" "$2"
}

for name in "${missing[@]}"; do
    started=$SECONDS
    case $name in
        etcd) build etcd go.etcd.io/etcd/server/v3 ;;
        kube-apiserver | kube-scheduler | kube-controller-manager) build "$name" "k8s.io/kubernetes/cmd/$name" ;;
        # Not a tool of go.mod: helm's own requirements would move Kubernetes' versions.
        helm)
            (cd / && GOBIN="$scratch" nice -n 10 go install -trimpath -ldflags "-s -w" \
                "helm.sh/helm/v3/cmd/helm@$helm_version")
            ;;
        *) echo "build.sh: $name: expected etcd, kube-apiserver, kube-scheduler, kube-controller-manager or helm" >&2; exit 2 ;;
    esac
    mv "$scratch/$name" "$folder/$name"
    echo "build.sh: $name built in $((SECONDS - started)) s" >&2
done
echo "$folder"
