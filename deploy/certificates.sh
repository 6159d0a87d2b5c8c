#!/usr/bin/env bash
# Makes a private certificate authority and the certificates of a cluster, with openssl.
#
#   deploy/certificates.sh                             those of compose.yaml, with compose.tls.yaml
#   deploy/certificates.sh NAME ROLE [HOST...]         one certificate
#
# A certificate names its holder, ouro://ROLE/NAME. With hosts, which are names or IP addresses, it is also one
# of a service. Repeated, the script renews certificates and keeps the authority; without arguments it also keeps
# the hosts of the services. Running processes use a renewed certificate from their next connection on.
#
# Each holder has a folder with tls.crt, tls.key and ca.crt, as the Secrets of cert-manager. Keep ca.key in a safe
# place: who has it can make any certificate. Put it back to renew certificates.
#
#   OURO_CERTIFICATES         folder of the certificates (tls in the folder of the secrets)
#   OURO_CERTIFICATE_DAYS     validity in days (90)
set -euo pipefail
deploy="$(dirname "$(realpath "$0")")"
. "$deploy/secrets-folder.sh"
folder="${OURO_CERTIFICATES:-$secrets/tls}"
days="${OURO_CERTIFICATE_DAYS:-90}"

fail() {
    echo "certificates.sh: $1" >&2
    exit "$2"
}

command -v openssl >/dev/null || fail "openssl is missing; install it" 69
# The folder keeps other users of this machine out. The files of holders are readable, because containers mount
# them and do not run as the user of this script.
(umask 077 && mkdir -p "$folder") || fail "cannot create $folder" 73
chmod 700 "$folder" || fail "cannot close $folder to other users" 73
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# A P-256 key in file $1.
make_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>"$scratch/errors" \
    || fail "no key: $(<"$scratch/errors")" 70; }

if [ -s "$folder/ca.crt" ] && [ ! -s "$folder/ca.key" ]; then
    fail "$folder/ca.key is missing; put it back, or remove ca.crt for a new authority" 66
fi
if [ ! -s "$folder/ca.crt" ]; then
    (umask 077 && make_key "$scratch/ca.key")
    printf '[req]\nprompt = no\ndistinguished_name = name\nx509_extensions = authority\n[name]\nCN = Ouro %s\n%s\n' \
        "$(od -An -v -N 4 -t x1 /dev/urandom | tr -d ' ')" \
        "[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash" >"$scratch/ca.cnf"
    openssl req -x509 -new -config "$scratch/ca.cnf" -key "$scratch/ca.key" -sha256 -days 3650 \
        -out "$scratch/ca.crt" 2>"$scratch/errors" || fail "no authority: $(<"$scratch/errors")" 70
    chmod 444 "$scratch/ca.crt"
    mv -f "$scratch/ca.key" "$scratch/ca.crt" "$folder/"
fi

# Makes the certificate of holder $1 in role $2 for the hosts that follow.
issue() {
    local name="$1" role="$2" names="URI:ouro://$2/$1" usage=clientAuth host
    shift 2
    case "$role" in
        actor | learner | worker | reader | admin) ;;
        *) fail "'$role' is no role; give actor, learner, worker, reader or admin" 64 ;;
    esac
    [[ "$name" =~ ^[A-Za-z0-9._-]{1,64}$ ]] || fail "'$name' is no name" 64
    for host; do
        usage="clientAuth, serverAuth"
        if [[ "$host" =~ ^[0-9.]+$ || "$host" == *:* ]]; then names+=",IP:$host"; else names+=",DNS:$host"; fi
    done
    make_key "$scratch/tls.key"
    openssl req -new -key "$scratch/tls.key" -subj "/CN=$name" -out "$scratch/request" 2>"$scratch/errors" \
        || fail "no request: $(<"$scratch/errors")" 70
    printf '%s = %s\n' basicConstraints critical,CA:FALSE keyUsage critical,digitalSignature \
        extendedKeyUsage "$usage" subjectAltName "$names" authorityKeyIdentifier keyid >"$scratch/extensions"
    openssl x509 -req -in "$scratch/request" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -sha256 \
        -set_serial "0x$(od -An -v -N 16 -t x1 /dev/urandom | tr -d ' ' | sed 's/^./1/')" \
        -days "$days" -extfile "$scratch/extensions" -out "$scratch/tls.crt" 2>"$scratch/errors" \
        || fail "no certificate for $name: $(<"$scratch/errors")" 70
    mkdir -p "$folder/$name"
    chmod 755 "$folder/$name"
    cp "$folder/ca.crt" "$scratch/holder-ca.crt"
    chmod 444 "$scratch"/{tls.crt,tls.key,holder-ca.crt}
    mv -f "$scratch/holder-ca.crt" "$folder/$name/ca.crt"
    mv -f "$scratch/tls.key" "$scratch/tls.crt" "$folder/$name/"
    echo "$folder/$name: ouro://$role/$name, valid for $days days"
}

# Prints the hosts that the certificate of holder $1 has, and those that follow.
hosts() {
    local certificate="$folder/$1/tls.crt"
    shift
    {
        printf '%s\n' "$@"
        [ ! -s "$certificate" ] || openssl x509 -in "$certificate" -noout -ext subjectAltName \
            | grep -oE '(DNS|IP Address):[^, ]+' | sed 's/^[^:]*://'
    } | awk '!seen[$0]++'
}

case $# in
    0)
        # The arena asks the learner for its figures, as a reader does.
        mapfile -t arena < <(hosts arena arena localhost 127.0.0.1)
        mapfile -t learner < <(hosts learner learner localhost 127.0.0.1)
        issue arena reader "${arena[@]}"
        issue learner learner "${learner[@]}"
        issue actors actor
        issue worker worker
        issue reader reader
        ;;
    1) fail "usage: deploy/certificates.sh [NAME ROLE [HOST...]]" 64 ;;
    *) issue "$@" ;;
esac
