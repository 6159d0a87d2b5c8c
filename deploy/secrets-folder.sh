# Sets `secrets`, the folder of the secrets: the variable OURO_SECRETS, else its line in deploy/.env, else
# deploy/secrets, as compose.yaml has it. A relative path counts from deploy/. Sourced by the scripts that make or
# read secrets, with `deploy` set.
secrets="${OURO_SECRETS:-}"
if [ -z "$secrets" ] && [ -f "$deploy/.env" ]; then
    secrets="$(sed -n 's/^OURO_SECRETS=//p' "$deploy/.env" | tail -n 1)"
fi
secrets="${secrets:-./secrets}"
case "$secrets" in
    /*) ;;
    *) secrets="$deploy/${secrets#./}" ;;
esac
