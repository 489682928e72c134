// The counterpart of the probe benchmarks: trivial servers, so that the client is the limit.
//
//	peer raw          HTTP/1.1 over raw TCP, a fixed answer per request
//	peer http         net/http, plain
//	peer https        net/http over TLS, HTTP/1.1 and HTTP/2 by ALPN
//	peer dns          UDP, answers every query with one A record
//
// Prints "port <n>" when it listens, "count <n>" (requests answered) on SIGUSR1, and ends when its input ends.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

var count atomic.Int64

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			fmt.Printf("count %d\n", count.Load())
		}
	}()
	switch os.Args[1] {
	case "raw":
		raw()
	case "http", "https":
		serve(os.Args[1] == "https")
	case "dns":
		dns()
	default:
		fmt.Fprintln(os.Stderr, "peer raw|http|https|dns")
		os.Exit(2)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	return listener
}

func ready(address net.Addr) {
	_, port, _ := net.SplitHostPort(address.String())
	fmt.Printf("port %s\n", port)
}

func raw() {
	listener := listen()
	body := bytes.Repeat([]byte("x"), 128)
	answer := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				buffer := make([]byte, 16384)
				held := 0
				for {
					n, err := connection.Read(buffer[held:])
					if err != nil {
						return
					}
					held += n
					for {
						end := bytes.Index(buffer[:held], []byte("\r\n\r\n"))
						if end < 0 {
							break
						}
						held = copy(buffer, buffer[end+4:held])
						count.Add(1)
						if _, err := connection.Write(answer); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	ready(listener.Addr())
}

func serve(secure bool) {
	listener := listen()
	body := bytes.Repeat([]byte("x"), 128)
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		_, _ = w.Write(body)
	})}
	if secure {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
		go func() { check(server.ServeTLS(listener, "", "")) }()
	} else {
		go func() { check(server.Serve(listener)) }()
	}
	ready(listener.Addr())
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func dns() {
	connection, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	check(err)
	_ = connection.SetReadBuffer(4 << 20)
	_ = connection.SetWriteBuffer(4 << 20)
	answer := []byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1}
	go func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := connection.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			if n < 17 {
				continue
			}
			end := 12
			for end < n && buffer[end] != 0 {
				end += int(buffer[end]) + 1
			}
			end += 5
			if end > n {
				continue
			}
			buffer[2], buffer[3] = 0x85, 0x80
			buffer[6], buffer[7] = 0, 1
			buffer[8], buffer[9], buffer[10], buffer[11] = 0, 0, 0, 0
			copy(buffer[end:], answer)
			count.Add(1)
			_, _ = connection.WriteToUDPAddrPort(buffer[:end+len(answer)], from)
		}
	}()
	ready(connection.LocalAddr())
}
