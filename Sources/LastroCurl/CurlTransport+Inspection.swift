// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

extension CurlTransport {
  /// Connects to a server as a request would, checks its chain and host name, and tells what it presented. No request
  /// is sent, and the connection is closed.
  ///
  /// This is how pins are found and checked: `ServerTrust.chain` has the pins of the verified chain.
  ///
  /// - Parameters:
  ///   - url: an `https` URL; only scheme, host and port count.
  ///   - connection: how to connect; default: the transport's own options.
  ///   - timeout: limit for all of it. Default 10 s; one that is not positive fails with `request/invalid_option`.
  /// - Throws: `TransportError`, as a request would: for an untrusted chain, for another host's certificate, and for a
  ///   server that a trust judge refuses. The last has the chain in `trustFailure`.
  public func inspect(
    _ url: String, connection: ConnectionOptions? = nil, timeout: Duration = .seconds(10)
  ) async throws(TransportError) -> ServerTrust {
    let request = try ResourceRequest(url: url)
    guard request.head.scheme == "https" else {
      throw .refused(.unsupportedScheme, "only https servers present a certificate", hint: "write https://HOST")
    }
    guard timeout > .zero else {
      throw .refused(
        .invalidOption, "the timeout is \(timeout.brief), which is not positive", hint: "give a positive duration")
    }
    var options = connection ?? self.connection
    // A server that speaks HTTP/2 alone shows the same certificate.
    options.httpVersion = .http1
    if let authority = request.head.authority, let target = TrustTarget(authority: authority, defaultPort: 443) {
      options.tls = try await options.tls.readingIdentity(for: target, within: timeout)
    }
    let transfer = TransferRequest(
      head: request.head, connection: options, connectTimeout: timeout, deadline: timeout)
    let job = try await perform(transfer, isInspection: true)
    _ = try job.takeAnswer()
    guard let trust = job.inspected else {
      throw .unrecordedChain
    }
    return trust
  }
}

extension TLSOptions {
  /// Returns the options with the client certificate for a host in memory: libcurl's transfers would read its files on
  /// the loop's thread.
  fileprivate func readingIdentity(
    for target: TrustTarget, within limit: Duration
  ) async throws(TransportError) -> TLSOptions {
    guard let source = try ClientIdentities(self).identity(for: target.host), !source.paths.isEmpty else { return self }
    let request = TLSFileRequest(identities: [.init(source: source)])
    let files = TLSFiles(self)
    try files.take(await TLSFileReader.answer(to: request, within: limit, for: target.name), now: monotonicNow())
    guard let identity = files.identity(source) else { throw .unusableIdentity }
    var options = self
    options.hostIdentities = [:]
    options.identity = Identity(
      certificate: .bytes(identity.certificate), key: .bytes(identity.key), keyPassword: identity.password)
    return options
  }
}
