// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Synchronization

/// Blocking sockets on 127.0.0.1, used to start peers and to check them without an HTTP client.
package enum Loopback {
  private static let turn = Atomic<Int>(.random(in: 0..<22_000))

  /// Returns a port that has no listener now. Another process may bind it before it is used, so callers try again.
  ///
  /// The port is below the kernel's ephemeral ports (from 32,768 on), and no two calls return the same port. Otherwise
  /// a client's connection or another peer could take the port before a slow program binds it, and respond in its
  /// place.
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

  /// Returns whether a server accepts connections on the port.
  package static func accepts(port: Int) -> Bool {
    guard let descriptor = try? connected(port: port) else { return false }
    close(descriptor)
    return true
  }

  /// Returns whether this process has a connection to the port that neither end has closed.
  static func isConnected(to port: Int) -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.lazy.compactMap { Int32($0) }.contains { farPort($0) == port && isOpenAtBothEnds($0) }
  }

  private static func farPort(_ descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
    }
    return result == 0 && address.sin_family == AF_INET ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }

  private static func isOpenAtBothEnds(_ descriptor: Int32) -> Bool {
    var information = tcp_info()
    var size = socklen_t(MemoryLayout<tcp_info>.size)
    let result = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &information, &size)
    return result == 0 && Int(information.tcpi_state) == TCP_ESTABLISHED
  }

  /// Sends `bytes` and returns everything received until the peer closes the connection, at most `limit` bytes.
  ///
  /// - Throws: ``PeerError`` if no server listens, or if the connection makes no progress for a minute.
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

  /// Sends a text and returns the response as text, like ``exchange(port:sending:limit:)``.
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

/// Returns the system's message for `errno`.
func errorText() -> String { String(cString: strerror(errno)) }

/// A TCP socket that listens on 127.0.0.1, found through `/proc`.
struct ListeningSocket {
  private let link: String

  /// - Throws: ``PeerError`` if no server listens on the port.
  init(port: Int) throws {
    // The table is read in pieces. If sockets open and close meanwhile, rows may be missing, so it is read again.
    for _ in 0..<1000 {
      if let inode = Self.inode(port: port) {
        link = "socket:[\(inode)]"
        return
      }
    }
    throw PeerError("Nobody listens on port \(port).")
  }

  private static func inode(port: Int) -> Substring? {
    let hexadecimal = String(port, radix: 16, uppercase: true)
    let ending = ":" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
    let rows = KernelFile.text("/proc/self/net/tcp").split(separator: "\n")
    // Columns of proc(5): local address 1, state 3 (0A listens), inode 9.
    for row in rows {
      let columns = row.split(separator: " ")
      if columns.count > 9, columns[1].hasSuffix(ending), columns[3] == "0A" { return columns[9] }
    }
    return nil
  }

  /// Returns the ids of the processes that have the socket open, except processes of other users.
  func owners() -> Set<Int32> {
    let processes = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
    return Set(processes.filter(isOpen))
  }

  private func isOpen(in process: Int32) -> Bool {
    let directory = "/proc/\(process)/fd"
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return descriptors.contains {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")) == link
    }
  }
}

/// Files of `/proc`.
package enum KernelFile {
  /// Returns the whole text of a file, or an empty text if the file does not exist. The kernel returns its tables in
  /// pages and reports a size of 0, so Foundation would read only the first page.
  package static func text(_ path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    var page = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(file, &page, page.count)
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += page[..<count]
    }
  }
}
