// One request by net.Dialer.
package main

import (
	"net"
	"os"
	"time"
)

func main() {
	dialer := net.Dialer{}
	if len(os.Args) > 3 {
		dialer.Timeout, _ = time.ParseDuration(os.Args[3] + "s")
	}
	connection, err := dialer.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err == nil {
		connection.Write([]byte("HEAD / HTTP/1.0\r\n\r\n"))
		_, err = connection.Read(make([]byte, 1))
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
