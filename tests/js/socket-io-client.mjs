// Socket.IO's own client, driven by a test over standard input and output, one JSON object a line.
//
//   node socket-io-client.mjs http://127.0.0.1:4000 '{"auth":{"token":"…"},"query":{…},"transports":["websocket"]}'
//
// Says: {"type":"connect","id"} {"type":"event","name","args"} {"type":"disconnect","reason"}
//       {"type":"connect_error","message"}
// Hears: {"do":"emit","name","args"} {"do":"reconnect","auth"} {"do":"close"}
// Ends when standard input does.

import { createInterface } from "node:readline";
import { io } from "socket.io-client";

const [url, options = "{}"] = process.argv.slice(2);
if (!url) {
  console.error("usage: node socket-io-client.mjs URL [OPTIONS as JSON]");
  process.exit(2);
}

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const socket = io(url, {
  path: "/ws/",
  transports: ["websocket"],
  reconnection: false,
  ...JSON.parse(options),
});
socket.on("connect", () => say({ type: "connect", id: socket.id }));
socket.on("disconnect", (reason) => say({ type: "disconnect", reason }));
socket.on("connect_error", (error) => say({ type: "connect_error", message: error.message }));
socket.onAny((name, ...args) => say({ type: "event", name, args }));

const commands = {
  emit: ({ name, args = [] }) => socket.emit(name, ...args),
  reconnect: ({ auth }) => {
    socket.auth = auth;
    socket.disconnect().connect();
  },
  close: () => socket.disconnect(),
};

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const command = JSON.parse(line);
  commands[command.do](command);
});
lines.on("close", () => process.exit(0));
