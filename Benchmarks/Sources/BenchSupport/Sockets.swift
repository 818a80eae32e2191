// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Which TCP connections the process has, as the kernel tells: what a client says of itself is no proof.
enum Sockets {
  /// How many connections stand to each IPv4 address, on one remote port.
  ///
  /// Every descriptor is asked for its peer. The kernel's table (`/proc/net/tcp`) leaves out connections when others
  /// come and go while it is read.
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

  /// `nil` for what is no connected IPv4 socket.
  private static func peer(of descriptor: Int32) -> sockaddr_in? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return result == 0 && Int32(address.sin_family) == AF_INET ? address : nil
  }

  /// The port that a URL names, or its scheme's.
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
