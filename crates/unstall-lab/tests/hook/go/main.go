// Connects to each address given, and prints what came of it and after how many milliseconds.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

func main() {
	for _, address := range os.Args[1:] {
		began := time.Now()
		connection, err := net.DialTimeout("tcp", address, 15*time.Second)
		took := time.Since(began)
		outcome, code := "connected", syscall.Errno(0)
		if err != nil {
			outcome = "failed"
			errors.As(err, &code)
		} else {
			connection.Close()
		}
		fmt.Printf("%s\t%s\t%d\t%.3f\n", address, outcome, uintptr(code), float64(took.Microseconds())/1000)
	}
}
