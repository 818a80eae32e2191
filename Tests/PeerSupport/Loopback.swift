// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Plain blocking sockets on 127.0.0.1, for starting peers and for checking them without an HTTP client.
package enum Loopback {
  private static let turn = Atomic<Int>(.random(in: 0..<22_000))

  /// A port nobody listens on now. Another process may take it before it is used: starters try again.
  ///
  /// It is below those the kernel hands out by itself (from 32,768 on), and no two calls give the same: a client's
  /// connection or another peer would take it before a slow program binds it, and answer in its place.
  package static func freePort() throws -> Int {
    for _ in 0..<1000 {
      let port = 10_000 + turn.wrappingAdd(1, ordering: .relaxed).oldValue % 22_000
      if try isFree(UInt16(port)) { return port }
    }
    throw PeerError("no free port among a thousand")
  }

  private static func isFree(_ port: UInt16) throws -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw PeerError("socket: \(errorText())") }
    defer { close(descriptor) }
    let address = ipv4(port: port)
    return withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Whether somebody accepts connections on the port.
  package static func accepts(port: Int) -> Bool {
    guard let descriptor = try? connected(port: port) else { return false }
    close(descriptor)
    return true
  }

  /// Sends `bytes` and gives everything that comes back until the peer closes, at most `limit` bytes.
  ///
  /// - Throws: ``PeerError`` when nobody listens, or nothing moves for a minute.
  package static func exchange(port: Int, sending bytes: [UInt8], limit: Int = 1 << 20) throws -> [UInt8] {
    let descriptor = try connected(port: port)
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw PeerError("send: \(errorText())") }
      sent += count
    }
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while received.count < limit {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count == 0 { break }
      guard count > 0 else { throw PeerError("recv: \(errorText())") }
      received += chunk[..<count]
    }
    return received
  }

  /// Sends text and gives text back, as ``exchange(port:sending:limit:)`` does.
  package static func exchange(port: Int, sending text: String) throws -> String {
    String(decoding: try exchange(port: port, sending: Array(text.utf8)), as: UTF8.self)
  }

  private static func connected(port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw PeerError("socket: \(errorText())") }
    var address = ipv4(port: UInt16(port))
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      let reason = errorText()
      close(descriptor)
      throw PeerError("connect to 127.0.0.1:\(port): \(reason)")
    }
    return descriptor
  }

  private static func ipv4(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

/// The text of `errno`.
func errorText() -> String { String(cString: strerror(errno)) }
