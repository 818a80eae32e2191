// SPDX-License-Identifier: Apache-2.0

/// Which TCP connections there are, as the kernel tells: what a client says of itself is no proof.
enum Sockets {
  /// How many connections stand to each IPv4 address, on one remote port. Servers of a run have ports of their own.
  static func connected(toPort port: Int) throws(BenchFailure) -> [UInt32: Int] {
    var connections: [UInt32: Int] = [:]
    try ProcessFile.forEachLine("/proc/self/net/tcp") { line in
      // "  0: 0100007F:A3B4 0100007F:1F90 01 …": addresses as the machine's own integers, state 01 is established.
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
      guard fields.count > 3, fields[3].elementsEqual("01".utf8) else { return }
      let remote = fields[2].split(separator: UInt8(ascii: ":"))
      guard remote.count == 2, let address = UInt32(String(decoding: remote[0], as: UTF8.self), radix: 16),
        Int(String(decoding: remote[1], as: UTF8.self), radix: 16) == port
      else { return }
      connections[UInt32(bigEndian: address), default: 0] += 1
    }
    return connections
  }

  /// The port that a URL names, or its scheme's.
  static func port(of url: String) throws(BenchFailure) -> Int {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let authority = parts[2].split(separator: "/").first else {
      throw .failed("\(url) is no URL")
    }
    if let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...]) {
      return port
    }
    return parts[0] == "https:" ? 443 : 80
  }
}
