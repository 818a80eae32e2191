// SPDX-License-Identifier: Apache-2.0

extension LoopbackServer {
  /// Starts a SOCKS 5 proxy (RFC 1928) without authentication that connects to this machine for every requested host:
  /// `example.com` with port 40123 reaches port 40123 on 127.0.0.1.
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - answer: returns the reply to a target, such as `example.com:40123` or `[::1]:80`; 0 accepts it. It runs on the
  ///     connection's thread. Default: accepts every target.
  /// - Throws: ``LoopbackError``.
  public static func socks5(
    _ endpoint: LoopbackEndpoint = .ephemeral, answering answer: @escaping @Sendable (String) -> UInt8 = { _ in 0 }
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint) { connection in
      let methods = try connection.read(exactly: 2)
      guard methods[0] == 5, try connection.read(exactly: Int(methods[1])).contains(0) else {
        return try connection.write([5, 0xFF])
      }
      try connection.write([5, 0])
      let head = try connection.read(exactly: 4)
      guard head[1] == 1, let host = try connection.readSOCKS5Host(head[3]) else {
        return try connection.write(reply(head[1] == 1 ? 8 : 7))
      }
      let port = try connection.read(exactly: 2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      let verdict = answer("\(host):\(port)")
      guard verdict == 0 else { return try connection.write(reply(verdict)) }
      try connection.tunnel(to: port, answer: reply(0), refusal: reply(5))
    }
  }

  private static func reply(_ code: UInt8) -> [UInt8] { [5, code, 0, 1, 127, 0, 0, 1, 0, 0] }
}

extension LoopbackConnection {
  /// Reads the host of a request; returns `nil` for an unknown address type.
  fileprivate func readSOCKS5Host(_ type: UInt8) throws(LoopbackError) -> String? {
    switch type {
    case 1: return try read(exactly: 4).map(String.init).joined(separator: ".")
    case 3: return String(decoding: try read(exactly: Int(try read(exactly: 1)[0])), as: UTF8.self)
    case 4:
      let bytes = try read(exactly: 16)
      let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      return "[" + groups.map { String($0, radix: 16) }.joined(separator: ":") + "]"
    default: return nil
    }
  }
}
