// SPDX-License-Identifier: Apache-2.0

import CLoopback

extension LoopbackServer {
  /// Starts a CONNECT proxy (RFC 9110 §9.3.6), over TLS or in plaintext, that connects to this machine for every
  /// requested host: `CONNECT example.com:40123` reaches port 40123 on 127.0.0.1.
  ///
  /// The requests are recorded in ``requests``. As for every server, its certificate can be replaced while it runs
  /// (``replaceTLS(_:keepingSessions:)``).
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - tls: the TLS options. Default: plaintext.
  ///   - answer: decides on a request: `nil` accepts it, a response refuses it. Default: accepts every request.
  /// - Throws: ``LoopbackError``.
  public static func tunnel(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil,
    refusing answer: @escaping @Sendable (RawRequestHead) -> LoopbackResponse? = { _ in nil }
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint, tls: tls) { connection in
      guard let head = try connection.readHead() else { return }
      if let refusal = answer(head) {
        return try connection.write(refusal.head(closing: true) + refusal.sentHTTP1Body(to: head.method))
      }
      let port = head.target.split(separator: ":").last.flatMap { UInt16($0) }
      guard head.method == "CONNECT", let port else {
        return try connection.write(LoopbackResponse(status: 405).head(closing: true))
      }
      try connection.tunnel(
        to: port, answer: Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8),
        refusal: LoopbackResponse(status: 502).head(closing: true))
    }
  }
}

extension LoopbackConnection {
  /// Forwards bytes in both directions between the client and a port on 127.0.0.1, until either side ends.
  ///
  /// - Parameters:
  ///   - answer: the bytes that the client gets when the connection is established.
  ///   - refusal: the bytes that the client gets if no server listens on the port.
  ///   - pause: the pause before bytes from the port are read, so that more of them are forwarded together. Default:
  ///     none.
  func tunnel(
    to port: UInt16, answer: [UInt8], refusal: [UInt8], pause duration: Duration? = nil
  ) throws(LoopbackError) {
    let upstream = cloopback_connect_tcp(port)
    guard upstream >= 0 else { return try write(refusal) }
    defer { cloopback_close(upstream) }
    try write(answer)
    try relay(to: upstream, pause: duration) { bytes throws(LoopbackError) in
      cloopback_send(upstream, bytes, bytes.count) >= 0
    } fromUpstream: { bytes throws(LoopbackError) in
      try write(bytes)
      return true
    }
  }

  /// Forwards bytes between the client and another socket, until either side ends, or a closure returns false.
  package func relay(
    to upstream: Int32, pause duration: Duration? = nil, fromClient: ([UInt8]) throws(LoopbackError) -> Bool,
    fromUpstream: ([UInt8]) throws(LoopbackError) -> Bool
  ) throws(LoopbackError) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let ready = hasBufferedBytes ? Int32(CLOOPBACK_WAIT_SECOND) : cloopback_wait(upstream, descriptor, -1, -1)
      if ready & Int32(CLOOPBACK_WAIT_SECOND) != 0 {
        let bytes = read(max: .max)
        guard !bytes.isEmpty, try fromClient(bytes) else { return }
      }
      if ready & Int32(CLOOPBACK_WAIT_FIRST) != 0 {
        if let duration { pause(duration) }
        let count = cloopback_receive(upstream, &buffer, buffer.count)
        guard count > 0, try fromUpstream([UInt8](buffer.prefix(count))) else { return }
      }
    }
  }
}
