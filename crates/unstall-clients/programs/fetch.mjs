// One request by fetch.
import process from "node:process";

const [url, limit] = process.argv.slice(2);
try {
  const response = await fetch(url, limit ? { signal: AbortSignal.timeout(limit * 1000) } : {});
  await response.text();
  process.exit(0);
} catch (error) {
  const cause = error.cause ?? error;
  const known = typeof cause.code === "string" ? cause.code : cause.errors?.[0]?.code;
  console.error(known ?? `${cause.name}: ${cause.message}`);
  process.exit(1);
}
