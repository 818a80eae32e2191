// SPDX-License-Identifier: Apache-2.0

// Command socks is a SOCKS 5 proxy without authentication (RFC 1928) for the benchmarks. It prints its port, and runs
// until it is ended.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
)

const version, connect, reserved = 5, 1, 0

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "socks:", err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		client, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "socks:", err)
			os.Exit(1)
		}
		go serve(client)
	}
}

// serve opens the connection that the client asks for, and copies bytes in both directions until both have ended.
func serve(client net.Conn) {
	defer client.Close()
	address, err := greet(client)
	if err != nil {
		fmt.Fprintln(os.Stderr, "socks:", err)
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "socks:", err)
		return
	}
	defer server.Close()
	if _, err := client.Write([]byte{version, 0, reserved, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		relay(server, client)
		close(done)
	}()
	relay(client, server)
	<-done
}

// relay copies until the source ends, and then ends the target's input. Between TCP connections, io.Copy splices.
func relay(target, source net.Conn) {
	io.Copy(target, source)
	target.(*net.TCPConn).CloseWrite()
}

// greet reads the greeting and the request, and returns the address to connect to.
func greet(client net.Conn) (string, error) {
	methods, err := read(client, 2)
	if err != nil {
		return "", err
	}
	if methods[0] != version {
		return "", errors.New("the client does not speak SOCKS 5")
	}
	if _, err = read(client, int(methods[1])); err != nil {
		return "", err
	}
	if _, err = client.Write([]byte{version, 0}); err != nil {
		return "", err
	}
	request, err := read(client, 4)
	if err != nil {
		return "", err
	}
	if request[1] != connect {
		return "", fmt.Errorf("command %d is not supported", request[1])
	}
	host, err := readHost(client, request[3])
	if err != nil {
		return "", err
	}
	port, err := read(client, 2)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1]))), nil
}

// readHost reads a host of one of the three types of addresses.
func readHost(client net.Conn, kind byte) (string, error) {
	switch kind {
	case 1, 4:
		address, err := read(client, map[byte]int{1: net.IPv4len, 4: net.IPv6len}[kind])
		return net.IP(address).String(), err
	case 3:
		length, err := read(client, 1)
		if err != nil {
			return "", err
		}
		name, err := read(client, int(length[0]))
		return string(name), err
	default:
		return "", fmt.Errorf("addresses of type %d are not supported", kind)
	}
}

func read(client net.Conn, count int) ([]byte, error) {
	bytes := make([]byte, count)
	_, err := io.ReadFull(client, bytes)
	return bytes, err
}
