// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The rules of a TLS connection over a stream: the request's options if it has any, otherwise the dialer's, and the
/// judges of both.
struct TLSPlan {
  /// The gate that admits the peer.
  let gate: TLSGate
  /// The files to read before a context is created.
  let files: TLSFileRequest
  /// The contents of ``files``, once they have been read.
  let contents: TLSFiles
  private let options: TLSOptions
  private let protocols: [UInt8]
  private let identity: TLSOptions.Identity?

  /// Creates a plan.
  ///
  /// - Throws: the reason why a value is refused; stage `trust` if a judge has to accept the peer, and OpenSSL does not
  ///   behave as judges require.
  init(_ request: DialRequest, _ tls: DialRequest.TLS, defaults: TLSOptions) throws(TransportError) {
    options = request.connection?.tls ?? defaults
    guard !options.requiresStapledStatus else {
      throw .refused(
        .unsupported, "stapled OCSP responses are not checked for TLS over a stream",
        hint: "leave requiresStapledStatus out, or dial directly")
    }
    guard (1...65_535).contains(request.port) else { throw .portOutOfRange(request.port) }
    let target = TrustTarget(host: try CurlTransport.host(tls.serverName ?? request.host), port: request.port)
    try options.check()
    protocols = try ALPNOffer.wireForm(tls.applicationProtocols)
    // Proxies get no client certificate.
    identity = request.role == .server ? try ClientIdentities(options).identity(for: target.host) : nil
    let terms = try TLSTerms(options, standing: defaults.trustJudge)
    if tls.soleJudge != nil { try TrustSelfCheck.require() }
    contents = terms.files
    files = contents.missing(for: identity) ?? TLSFileRequest()
    // The chain is recorded, so sessions are not kept for resumption.
    gate = try TLSGate(target, role: request.role, terms: terms, onlyJudge: tls.soleJudge, recordsChain: true)
  }

  /// Creates a context and sets it up, except for its judges. The caller frees it by `SSL_CTX_free`.
  func makeContext() throws(TransportError) -> OpaquePointer {
    ERR_clear_error()
    defer { ERR_clear_error() }
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw .noTLSSession }
    do throws(TransportError) {
      try apply(to: context)
      return context
    } catch {
      SSL_CTX_free(context)
      throw error
    }
  }

  private func apply(to context: OpaquePointer) throws(TransportError) {
    let legacy = options.legacyCiphers?.joined(separator: ":")
    let suites = options.cipherSuites?.joined(separator: ":")
    guard Self.limit(context, SSL_CTRL_SET_MIN_PROTO_VERSION, options.minimumVersion),
      Self.limit(context, SSL_CTRL_SET_MAX_PROTO_VERSION, options.maximumVersion)
    else { throw .refusedVersions }
    if let legacy, SSL_CTX_set_cipher_list(context, legacy) != 1 { throw .refusedCiphers }
    if let suites, SSL_CTX_set_ciphersuites(context, suites) != 1 { throw .refusedCipherSuites }
    guard clastro_context_carry_stream(UnsafeMutableRawPointer(context), protocols, protocols.count) else {
      throw .refusedApplicationProtocols
    }
    guard let identity else { return }
    guard let content = contents.identity(identity), content.use(in: context) else { throw .unusableIdentity }
    ExpiryLog.shared.note(content)
  }

  /// Sets the oldest or the newest version; `nil` keeps OpenSSL's.
  private static func limit(_ context: OpaquePointer, _ command: Int32, _ version: TLSOptions.Version?) -> Bool {
    guard let version else { return true }
    return SSL_CTX_ctrl(context, command, Int(TLS1_VERSION + version.position), nil) == 1
  }
}
