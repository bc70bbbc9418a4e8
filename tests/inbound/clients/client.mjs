// Sends requests with Node's own `fetch` and prints what came back.

const url = `${process.argv[2]}/charges`;

async function charge(key, amount) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "idempotency-key": key },
    body: new URLSearchParams({ amount }),
  });
  const text = await answer.text();
  const body = text ? JSON.parse(text) : {};
  return [answer.status, answer.headers.get("idempotent-replayed"), body.id ?? body.code ?? null];
}

const seen = [];
for (const key of ["node-7", "node-7", '"node-7"', "node-7"]) {
  seen.push(await charge(key, "1400"));
}
seen.push(await charge("node-7", "1500"));
console.log(JSON.stringify(seen));
