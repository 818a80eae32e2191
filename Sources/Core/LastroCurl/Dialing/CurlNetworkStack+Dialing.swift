// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP

extension CurlNetworkStack {
  /// A dialer that opens streams on the stack's engine, under its limits and pins, for WebSocket, Gemini and other
  /// protocols: TCP and TLS, which libcurl connects as for a fetch, and UDP.
  ///
  /// ```swift
  /// let stream = try await stack.dialer.dial(DialRequest(host: "example.com", port: 443, tls: .init()))
  /// try await stream.write(Data("HEAD / HTTP/1.0\r\n\r\n".utf8))
  /// let answer = try await stream.read()
  /// ```
  ///
  /// The `ConnectionOptions` apply as for a fetch: proxies, fixed name answers, Unix sockets, local interfaces, roots,
  /// client certificates, pins and judges. If the host has the role of a proxy, it gets no client certificate. HTTP
  /// proxies are always used with `CONNECT`. Options that concern only HTTP are ignored.
  ///
  /// A datagram stream is a UDP socket that receives datagrams from one address only. It uses fixed name answers and
  /// the local interface, as the name of an interface or a local address. Proxies are not used, and TLS and a Unix
  /// socket are refused.
  ///
  /// Trust is decided when a stream is dialed, within its handshake. If rules, roots or client certificates change
  /// afterwards, open streams continue, and new ones are dialed under the new state. No connection serves two streams,
  /// or a stream and a fetch, and no TLS session is resumed.
  ///
  /// Any number of streams may be open. Idle streams are not closed, and streams do not count among
  /// ``activeTransfers``. At most ``CurlConfiguration/coldRequestsPerHost`` streams are dialed to one host (name and
  /// port) at a time on each loop. At most ``CurlConfiguration/maximumQueuedRequests`` others wait, and their time
  /// limits include the wait. Shutting down the stack ends all streams at once, with code `shut_down`. If the stack is
  /// released, its engine ends when the dialer and all its streams have been released, too.
  ///
  /// It may be called from any thread. A dial throws `TransportError` with stage `request`, `resolve`, `connect`,
  /// `proxy`, `tls`, `trust`, `limit` (code `queue_full`: too many streams wait to be dialed), `timeout` or
  /// `cancelled`. The codes are those of fetches that fail for the same reason. If connecting failed, `systemCode` is
  /// the `errno`.
  public var dialer: any Dialer { transport }

  /// A dialer for programs that have no stack, with an engine of the default configuration, which is created on first
  /// use and never shut down. If the engine could not be created because there were not enough threads or descriptors,
  /// every dial fails with code `engine_failure`.
  public static let sharedDialer: any Dialer = {
    do throws(ConfigurationError) {
      return try CurlTransport()
    } catch {
      return UnusableDialer(failure: TransportError(error))
    }
  }()
}

/// A dialer that reports at every dial why there is no engine.
private struct UnusableDialer: Dialer {
  let failure: TransportError

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { throw failure }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream { throw failure }
}
