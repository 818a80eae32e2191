// SPDX-License-Identifier: Apache-2.0

extension LoopbackServer {
  /// Starts an HTTP/2 server: over TLS with ALPN, in the clear with prior knowledge (RFC 9113 §3.3). It multiplexes,
  /// keeps to the client's windows and gives room for uploads; faults come with ``LoopbackResponse/fault``.
  ///
  /// ```swift
  /// let server = try LoopbackServer.http2(tls: LoopbackTLS(identity)) { request in
  ///   request.path == "/busy" ? .fault(.http2(.resetStream(.refusedStream), at: .beforeHeaders)) : .text("fine")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: default a port of the kernel's choice.
  ///   - tls: default plain. Without protocols of its own it offers `h2`; a client that negotiates `http/1.1`, where
  ///     that is among them, is served in that.
  ///   - settings: what the server announces.
  ///   - respond: answers one request. Runs on the connection's thread: when it blocks, all streams of that connection
  ///     wait. When it throws, the answer is 500.
  /// - Throws: ``LoopbackError``.
  public static func http2(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil, settings: LoopbackHTTP2Settings = .init(),
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint, tls: tls.map(offeringHTTP2)) { connection in
      if connection.applicationProtocol == "http/1.1" { return try connection.serveHTTP(respond) }
      try LoopbackHTTP2Connection(connection, settings: settings).serve(respond)
    }
  }

  /// Starts an HTTP/2 server whose handler reads and writes frames itself, once for each connection: for what is
  /// illegal.
  ///
  /// - Parameters:
  ///   - endpoint: default a port of the kernel's choice.
  ///   - tls: default plain. Without protocols of its own it offers `h2`.
  ///   - settings: what the server announces.
  ///   - script: drives one connection, on its thread. It may block. What it throws is kept in ``errors`` and closes
  ///     the connection.
  /// - Throws: ``LoopbackError``.
  public static func http2Script(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil, settings: LoopbackHTTP2Settings = .init(),
    script: @escaping @Sendable (LoopbackHTTP2Connection) throws -> Void
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint, tls: tls.map(offeringHTTP2)) { connection in
      try script(LoopbackHTTP2Connection(connection, settings: settings))
    }
  }

  private static func offeringHTTP2(_ tls: LoopbackTLS) -> LoopbackTLS {
    var tls = tls
    if tls.applicationProtocols.isEmpty { tls.applicationProtocols = ["h2"] }
    return tls
  }
}
