# Sends requests with curl and prints what came back.
set -eu

charge() {
    answer=$(curl --silent --show-error --include --data "amount=$2" --header "Idempotency-Key: $1" "$url" | tr -d '\r')
    status=$(printf '%s\n' "$answer" | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p')
    replayed=$(printf '%s\n' "$answer" | sed -n 's/^idempotent-replayed: \(.*\)$/"\1"/p')
    named=$(printf '%s\n' "$answer" | sed -n 's/.*"\(id\|code\)":\("[^"]*"\).*/\2/p')
    printf '[%s,%s,%s]' "$status" "${replayed:-null}" "${named:-null}"
}

url="$1/charges"
printf '['
for key in curl-7 curl-7 '"curl-7"' curl-7; do
    charge "$key" 1400
    printf ','
done
charge curl-7 1500
printf ']\n'
