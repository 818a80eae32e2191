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
  private let options: TLSOptions
  private let protocols: [UInt8]
  private let identity: TLSOptions.Identity?
  private let contents: TLSFiles

  /// Creates a plan.
  ///
  /// - Parameter check: throws if OpenSSL does not behave as judges require.
  init(
    _ request: DialRequest, _ tls: DialRequest.TLS, defaults: TLSOptions,
    check: () throws(TransportError) -> Void = TrustSelfCheck.require
  ) throws(TransportError) {
    options = request.connection?.tls ?? defaults
    guard !options.requiresStapledStatus else {
      throw .refused(
        .unsupported, "stapled OCSP responses are not checked for TLS over a stream",
        hint: "leave requiresStapledStatus out, or dial directly")
    }
    guard (1...65_535).contains(request.port) else { throw .portOutOfRange(request.port) }
    let target = TrustTarget(host: try Self.host(tls.serverName ?? request.host), port: request.port)
    try TLSVersions.check(options)
    try CipherNames.check(options)
    protocols = try ALPNOffer.wireForm(tls.applicationProtocols)
    // Proxies get no client certificate.
    identity = request.role == .server ? try ClientIdentities(options).identity(for: target.host) : nil
    let contents = TLSFiles(options)
    files = contents.missing(for: identity) ?? TLSFileRequest()
    let terms = TLSTerms(
      rules: JudgePanel(standing: defaults.trustJudge, additional: options.trustJudge), files: contents,
      isStrict: options.requiresStrictChain)
    self.contents = contents
    let onlyJudge = tls.soleJudge
    if onlyJudge != nil || !terms.rules.isEmpty { try check() }
    gate = TLSGate(target, role: request.role, terms: terms, onlyJudge: onlyJudge, recordsChain: true)
  }

  /// Stores the contents of ``files``.
  ///
  /// - Throws: the reason why a file cannot be used.
  func take(_ answer: TLSFileAnswer) throws(TransportError) { try contents.take(answer, now: monotonicNow()) }

  /// Creates a context and sets it up, except for its judges.
  func makeContext() throws(TransportError) -> UnsafeMutableRawPointer {
    let maximum = options.maximumVersion?.position ?? -1
    guard let context = clastro_nested_context_new(options.minimumVersion.position, maximum) else {
      throw .refusedVersion
    }
    do throws(TransportError) {
      try apply(to: context)
      return context
    } catch {
      clastro_nested_context_free(context)
      throw error
    }
  }

  private func apply(to context: UnsafeMutableRawPointer) throws(TransportError) {
    let legacy = options.legacyCiphers?.joined(separator: ":")
    let suites = options.cipherSuites?.joined(separator: ":")
    guard clastro_nested_context_set_ciphers(context, legacy, suites) else {
      throw .refusedCiphers
    }
    guard clastro_context_carry_stream(context, protocols, protocols.count) else { throw .refusedProtocols }
    guard let identity else { return }
    guard contents.identity(identity)?.use(in: context) == true else { throw .unusableIdentity }
  }

  private static func host(_ text: String) throws(TransportError) -> HostName {
    do throws(ConfigurationError) {
      return try HostName(text)
    } catch {
      throw .refused(.invalidOption, "the host cannot be used for TLS: \(error.message)", hint: error.hint)
    }
  }
}
