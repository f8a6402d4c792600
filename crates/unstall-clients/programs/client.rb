# One request by a TCPSocket.
require "socket"
host, port, limit = ARGV
begin
  socket = limit ? TCPSocket.new(host, port.to_i, connect_timeout: limit.to_f) : TCPSocket.new(host, port.to_i)
  socket.write("HEAD / HTTP/1.0\r\n\r\n")
  socket.gets or abort "empty reply"
rescue SystemCallError, SocketError, IOError => e
  abort "#{e.class}: #{e.message}"
end
