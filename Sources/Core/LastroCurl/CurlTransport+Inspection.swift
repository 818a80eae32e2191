// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroHTTP
internal import LastroSupport

extension CurlTransport {
  /// Connects to a server as a request would, checks its chain and host name, and returns the certificates that it
  /// presented. No request is sent, and the connection is closed.
  ///
  /// Use it to find and check pins: `ServerTrust.chain` has the pins of the verified chain.
  ///
  /// - Parameters:
  ///   - url: an `https` URL; only scheme, host and port are used.
  ///   - connection: the connection options. Default: the transport's own options.
  ///   - timeout: the limit of the whole operation. Default 10 s; a value that is not positive fails with
  ///     `request/invalid_option`.
  /// - Throws: `TransportError`, as a request would: for an untrusted chain, for another host's certificate, and for a
  ///   server that a trust judge refuses. The last has the chain in `trustFailure`.
  public func inspect(
    _ url: String, connection: ConnectionOptions? = nil, timeout: Duration = .seconds(10)
  ) async throws(TransportError) -> ServerTrust {
    let head = try ResourceRequest(url: url).head
    guard head.scheme == "https" else {
      throw .refused(.unsupportedScheme, "only https servers present a certificate", hint: "write https://HOST")
    }
    guard timeout > .zero else {
      throw .refused(
        .invalidOption, "the timeout is \(timeout.brief), which is not positive", hint: "give a positive duration")
    }
    guard let authority = head.authority, let target = TrustTarget(authority: authority, defaultPort: 443) else {
      throw .unreadableHost
    }
    let request = DialRequest(
      host: target.host.text, port: target.port, tls: .init(applicationProtocols: ["h2", "http/1.1"]),
      connection: connection, connectTimeout: timeout)
    let dial = try dial(.inspection, request)
    return try await withTaskCancellationHandler {
      await dial.inspection.value()
    } onCancel: {
      dial.giveUp()
    }.get()
  }
}
