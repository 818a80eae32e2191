// SPDX-License-Identifier: Apache-2.0

/// Opens streams to hosts: directly, through a proxy, or through another dialer. It separates protocols (WebSocket,
/// Gemini, connections) from the transport of their bytes.
///
/// A dialer that wraps another dialer is a tunnel. Any thread may call a dialer.
///
/// ```swift
/// let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 7, tls: .init()))
/// try await stream.write(Data("hello".utf8), within: .seconds(5))
/// ```
public protocol Dialer: Sendable {
  /// Opens a stream.
  ///
  /// Returns when the stream can carry bytes: it is connected, through any proxies, and if TLS is requested, the
  /// handshake has succeeded and the server's certificate was accepted. Cancelling the task aborts the attempt at once.
  ///
  /// - Throws: ``TransportError``, with ``TransportError/systemCode`` if the system reported a reason.
  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream

  /// Opens a stream of datagrams (UDP), without TLS.
  ///
  /// - Throws: ``TransportError``; stage `request` and code `unsupported` from dialers that do not support datagrams.
  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream

  /// Refuses a host that must not be contacted without TLS because its key is pinned. A dialer that wraps another one
  /// asks that dialer before it sends unencrypted bytes to a host.
  ///
  /// HTTP calls this before every request, on the thread of an event loop: it must not block.
  ///
  /// - Throws: ``TransportError``, stage `trust`, code `plaintext_refused`.
  func checkPlaintext(_ request: DialRequest) throws(TransportError)

  /// Returns the revisions of the trust rules that would apply to a stream dialed now. When they change, pooled streams
  /// accept no further requests. Default: the revision of the request's own judge. A dialer that wraps another one
  /// forwards the call.
  ///
  /// HTTP calls this before every request, on the thread of an event loop: it must not block.
  func trustRevisions(for request: DialRequest) -> [UInt64]
}

extension Dialer {
  /// Refuses the request, because this dialer does not support datagrams.
  ///
  /// - Throws: ``TransportError``, always: stage `request`, code `unsupported`.
  public func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    throw .refused(.unsupported, "\(Self.self) carries no datagrams", hint: "dial UDP without a tunnel")
  }

  /// The default accepts every host.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) {}

  /// Returns the revision of the request's own judge, by default.
  public func trustRevisions(for request: DialRequest) -> [UInt64] {
    request.connection?.tls.trustJudge.map { [$0.revision] } ?? []
  }
}
