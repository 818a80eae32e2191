// SPDX-License-Identifier: Apache-2.0

public import Lastro
package import LastroHTTP
internal import LastroSupport

/// Opens streams on the engine: TCP and TLS, which libcurl connects as for a fetch, and UDP.
///
/// ```swift
/// let dialer = CurlDialer.shared
/// let stream = try await dialer.dial(DialRequest(host: "example.com", port: 443, tls: .init()))
/// try await stream.write(Data("HEAD / HTTP/1.0\r\n\r\n".utf8))
/// let answer = try await stream.read()
/// ```
///
/// The `ConnectionOptions` apply as for a fetch: proxies, fixed name answers, Unix sockets, local interfaces, roots,
/// client certificates, pins and judges. If the host has the role of a proxy, it gets no client certificate. HTTP
/// proxies are always used with `CONNECT`. Options that concern only HTTP are ignored.
///
/// Trust is decided when a stream is dialed, within its handshake. If rules, roots or client certificates change
/// afterwards, open streams continue, and new ones are dialed under the new state. No connection serves two streams, or
/// a stream and a fetch, and no TLS session is resumed.
///
/// Any number of streams may be open. Idle streams are not closed, and streams do not count among
/// ``CurlNetworkStack/activeTransfers``. At most ``CurlConfiguration/coldRequestsPerHost`` streams are dialed to one
/// host (name and port) at a time on each loop. At most ``CurlConfiguration/maximumQueuedRequests`` others wait, and
/// their time limits include the wait. Shutting down the transport ends all streams at once, with code `shut_down`.
///
/// It may be called from any thread.
public struct CurlDialer: Dialer {
  private let transport: CurlTransport

  /// Creates a dialer on the engine of a transport, whose threads and options the streams share.
  public init(transport: CurlTransport) { self.transport = transport }

  /// Creates a dialer with an engine of its own, which ends when the dialer and all its streams have been released.
  /// Default `CurlConfiguration()`.
  ///
  /// - Throws: `ConfigurationError`, as ``CurlTransport`` does.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(ConfigurationError) {
    transport = try CurlTransport(configuration)
  }

  /// The number of streams that are being dialed or open.
  package var activeStreams: Int { transport.activeStreams }

  /// Opens a byte stream.
  ///
  /// - Throws: `TransportError` with stage `request`, `resolve`, `connect`, `proxy`, `tls`, `trust`, `limit` (code
  ///   `queue_full`: too many streams wait to be dialed), `timeout` or `cancelled`. The codes are those of fetches that
  ///   fail for the same reason. If connecting failed, `systemCode` is the `errno`.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let dial = try transport.dial(.bytes, request)
    return try await dial.bytes.value { dial.giveUp() }.get()
  }

  /// Opens a datagram stream: a UDP socket that receives datagrams from one address only.
  ///
  /// Names are resolved by the system, and the first address with a route is used. Dials that ask for the same name at
  /// the same time share its look-up; at most 16 names are looked up at a time in a process. Fixed name answers apply.
  /// The local interface applies too, as the name of an interface or a local address, but not as a host name. Proxies
  /// are not used, and a Unix socket is refused.
  ///
  /// - Throws: `TransportError`, as ``dial(_:)``; stage `request`, code `unsupported`, for TLS, a Unix socket, or an
  ///   unusable local interface; stage `limit`, code `queue_full`, if 4,096 streams of this process already wait for
  ///   the addresses of their names.
  public func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    let dial = try transport.dial(.datagrams, request)
    return try await dial.datagrams.value { dial.giveUp() }.get()
  }

  /// Refuses a host whose key is pinned, by the current rules.
  ///
  /// - Throws: `TransportError`, stage `trust`, code `plaintext_refused`.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    try transport.checkPlaintext(request)
  }

  /// Returns the revisions of the engine's judge, of the request's judge, and of the files that the TLS options name.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { transport.trustRevisions(for: request) }
}

extension CurlDialer {
  /// A dialer with an engine of the default configuration, which is created on first use and never shut down. If the
  /// engine could not be created because there were not enough threads or descriptors, every dial fails with code
  /// `engine_failure`.
  public static let shared: any Dialer = {
    do throws(ConfigurationError) {
      return try CurlDialer()
    } catch {
      return UnusableDialer(error: error)
    }
  }()
}

extension CurlDialer: LoopDialer, TLSFileDialer {
  package var loop: EventLoop? { transport.loopForDialers }

  package func lookAtFiles(for options: ConnectionOptions?) {
    _ = transport.fileRevisions.numbers(of: (options ?? transport.connection).tls)
  }
}

/// A dialer that reports at every dial why there is no engine.
private struct UnusableDialer: Dialer {
  let error: ConfigurationError

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    throw failure
  }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream { throw failure }

  private var failure: TransportError { TransportError(error) }
}
