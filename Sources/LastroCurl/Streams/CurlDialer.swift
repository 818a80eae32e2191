// SPDX-License-Identifier: Apache-2.0

public import Lastro
package import LastroHTTP
internal import LastroSupport

/// Opens streams on the engine: TCP and TLS as libcurl connects for a fetch, and UDP beside them.
///
/// ```swift
/// let dialer = CurlDialer.shared
/// let stream = try await dialer.dial(DialRequest(host: "example.com", port: 443, tls: .init()))
/// try await stream.write(Data("HEAD / HTTP/1.0\r\n\r\n".utf8))
/// let answer = try await stream.read()
/// ```
///
/// Proxies, fixed name answers, Unix sockets, local interfaces, roots, client certificates, pins and judges of the
/// `ConnectionOptions` hold as for a fetch; where the host has the role of a proxy, no client certificate goes to it.
/// Through HTTP proxies everything goes by `CONNECT`. Of the options, those of HTTP alone are ignored.
///
/// Trust is decided when a stream is dialed, within its handshake. When rules, roots or client certificates change
/// afterwards, open streams continue, and new ones are dialed under the new state. No connection serves two streams, or
/// a stream and a fetch, and no TLS session is resumed.
///
/// Any number of streams may be open; idle ones are not closed, and they do not count among
/// ``CurlTransport/activeTransfers``. To one host (name and port) at most ``CurlConfiguration/coldRequestsPerHost`` are
/// dialed at once, for each loop; others wait, ``CurlConfiguration/maximumQueuedRequests`` of them at most, and the
/// time counts to their limit. Shutting the transport down ends all streams at once, with code `shut_down`.
///
/// Any thread may call it.
public struct CurlDialer: Dialer {
  private let transport: CurlTransport

  /// Dials with the engine of a transport, whose threads and options the streams share.
  public init(transport: CurlTransport) { self.transport = transport }

  /// Dials with an engine of its own, which ends when the dialer and all its streams are gone. Default
  /// `CurlConfiguration()`.
  ///
  /// - Throws: `ConfigurationError`, as ``CurlTransport`` does.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(ConfigurationError) {
    transport = try CurlTransport(configuration)
  }

  /// Streams that are dialed or open at the moment.
  public var activeStreams: Int { transport.activeStreams }

  /// Opens a stream of bytes.
  ///
  /// - Throws: `TransportError`: stages `request`, `resolve`, `connect`, `proxy`, `tls`, `trust`, `limit` (code
  ///   `queue_full`: too many wait to be dialed), `timeout` and `cancelled`, with the codes that fetches have for the
  ///   same reason; `systemCode` is the `errno` where connecting failed.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let dial = try transport.dial(.bytes, request)
    return try await withTaskCancellationHandler {
      await dial.bytes.value()
    } onCancel: {
      dial.giveUp()
    }.get()
  }

  /// Opens a stream of datagrams: a UDP socket that hears of one address only.
  ///
  /// Names are resolved by the system, and the first address that has a route is taken. Dials that ask for one
  /// name at once share its look-up; 16 names are looked up at once in a process. Fixed name answers and the local
  /// interface hold, the latter as the name of an interface or a local address, not as a host name; proxies are not
  /// asked, and a Unix socket is refused.
  ///
  /// - Throws: `TransportError`, as ``dial(_:)``; stage `request`, code `unsupported`, where TLS, a Unix socket or a
  ///   local interface that can be none is asked for; stage `limit`, code `queue_full`, where 4,096 streams of this
  ///   process wait for their names' addresses.
  public func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    let dial = try transport.dial(.datagrams, request)
    return try await withTaskCancellationHandler {
      await dial.datagrams.value()
    } onCancel: {
      dial.giveUp()
    }.get()
  }

  /// Refuses a host whose key is pinned, by the rules in force now.
  ///
  /// - Throws: `TransportError`, stage `trust`, code `plaintext_refused`.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    try transport.checkPlaintext(request)
  }

  /// The revisions of the engine's judge and the request's, and of the files that the TLS options name.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { transport.trustRevisions(for: request) }
}

extension CurlDialer {
  /// Dials with an engine of the default configuration, made when it is first asked for and never shut down. Where it
  /// could not be made, for want of threads or descriptors, every dial fails with code `engine_failure`.
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

/// Tells at every dial why there is no engine.
private struct UnusableDialer: Dialer {
  let error: ConfigurationError

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    throw failure
  }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream { throw failure }

  private var failure: TransportError { TransportError(error) }
}
