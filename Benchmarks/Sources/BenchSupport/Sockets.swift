// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The TCP connections of the process according to the kernel, because a client's own count is no proof.
enum Sockets {
  /// Returns the number of open connections to each IPv4 address on one remote port.
  ///
  /// It queries the peer address of every descriptor. The kernel's table (`/proc/net/tcp`) may omit connections if
  /// others open and close while it is read.
  static func connected(toPort port: Int) throws(BenchFailure) -> [UInt32: Int] {
    guard let folder = opendir("/proc/self/fd") else {
      throw .failed("/proc/self/fd: \(String(cString: strerror(errno)))")
    }
    defer { closedir(folder) }
    var connections: [UInt32: Int] = [:]
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 } }
      guard let descriptor = Int32(String(decoding: name, as: UTF8.self)),
        let peer = peer(of: descriptor), UInt16(bigEndian: peer.sin_port) == port
      else { continue }
      connections[UInt32(bigEndian: peer.sin_addr.s_addr), default: 0] += 1
    }
    return connections
  }

  /// Returns the peer address of a descriptor; `nil` if it is not a connected IPv4 socket.
  private static func peer(of descriptor: Int32) -> sockaddr_in? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return result == 0 && Int32(address.sin_family) == AF_INET ? address : nil
  }

  /// Returns the port in a URL, or the default port of its scheme.
  static func port(of url: String) throws(BenchFailure) -> Int {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let authority = parts[2].split(separator: "/").first else {
      throw .failed("\(url) is not a URL")
    }
    if let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...]) {
      return port
    }
    return parts[0] == "https:" ? 443 : 80
  }
}
