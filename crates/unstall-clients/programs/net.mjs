// One request by a socket of node:net.
import net from "node:net";
import process from "node:process";

const [host, port, limit] = process.argv.slice(2);
const fails = (why) => {
  console.error(why);
  process.exit(1);
};
const socket = net.connect(Number(port), host);
if (limit) setTimeout(() => fails("timeout"), limit * 1000);
socket.on("connect", () => socket.write("HEAD / HTTP/1.0\r\n\r\n"));
socket.on("data", () => process.exit(0));
socket.on("end", () => fails("empty reply"));
socket.on("error", (error) => fails((error.errors?.[0] ?? error).code));
