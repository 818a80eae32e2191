// SPDX-License-Identifier: Apache-2.0

extension LoopbackServer {
  /// Starts an HTTP/2 server: over TLS with ALPN, or in plaintext with prior knowledge (RFC 9113 §3.3). It multiplexes
  /// streams, respects the client's windows and replenishes those for uploads. ``LoopbackResponse/fault`` adds faults.
  ///
  /// ```swift
  /// let server = try LoopbackServer.http2(tls: LoopbackTLS(identity)) { request in
  ///   request.path == "/busy" ? .fault(.refusedStream) : .text("fine")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - port: the port of 127.0.0.1 to listen on. Default 0: the kernel chooses one.
  ///   - unixSocketPath: the path of a Unix socket to listen on, in place of a port: at most 107 bytes. It must not
  ///     exist yet, and is removed when the server stops. Default: none.
  ///   - tls: the TLS options. Default: plaintext. If they contain no protocols, the server offers `h2`. A client that
  ///     negotiates `http/1.1`, if that is among them, is served over HTTP/1.1.
  ///   - respond: returns the response to a request. It runs on the connection's thread: while it blocks, all streams
  ///     of that connection wait. If it throws, the response is 500.
  /// - Throws: ``LoopbackError``.
  public static func http2(
    port: UInt16 = 0, unixSocketPath: String? = nil, tls: LoopbackTLS? = nil,
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try http2(
      port: port, unixSocketPath: unixSocketPath, tls: tls, settings: LoopbackHTTP2Settings(), respond: respond)
  }

  /// Starts an HTTP/2 server that announces settings. They have no default, so that a call without them means the
  /// public function.
  package static func http2(
    port: UInt16 = 0, unixSocketPath: String? = nil, tls: LoopbackTLS? = nil, settings: LoopbackHTTP2Settings,
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(port: port, unixSocketPath: unixSocketPath, tls: tls.map(offeringHTTP2)) { connection in
      if connection.applicationProtocol == "http/1.1" { return try connection.serveHTTP(respond) }
      try LoopbackHTTP2Connection(connection, settings: settings).serve(respond)
    }
  }

  /// Starts an HTTP/2 server whose handler reads and writes frames itself, once per connection, for tests of invalid
  /// behavior.
  ///
  /// - Parameters:
  ///   - tls: the TLS options. Default: plaintext. If they contain no protocols, the server offers `h2`.
  ///   - settings: the settings that the server announces.
  ///   - script: drives one connection, on its thread. It may block. Its error is recorded in ``errors`` and closes the
  ///     connection.
  /// - Throws: ``LoopbackError``.
  package static func http2Script(
    tls: LoopbackTLS? = nil, settings: LoopbackHTTP2Settings = .init(),
    script: @escaping @Sendable (LoopbackHTTP2Connection) throws -> Void
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(tls: tls.map(offeringHTTP2)) { connection in
      try script(LoopbackHTTP2Connection(connection, settings: settings))
    }
  }

  private static func offeringHTTP2(_ tls: LoopbackTLS) -> LoopbackTLS {
    var tls = tls
    if tls.applicationProtocols.isEmpty { tls.applicationProtocols = ["h2"] }
    return tls
  }
}
