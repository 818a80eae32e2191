// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// What a TLS connection over a stream shall obey: the request's options where it has some, else the dialer's; the
/// judges of both.
struct TLSPlan {
  /// Stands before the peer.
  let gate: TLSGate
  private let options: TLSOptions
  private let protocols: [UInt8]
  private let identity: TLSOptions.Identity?

  /// - Parameters:
  ///   - roots: gives the store for a source.
  ///   - check: throws where OpenSSL differs from what judges rest on.
  init(
    _ request: DialRequest, _ tls: DialRequest.TLS, defaults: TLSOptions,
    roots: (TLSOptions.Roots) throws(TransportError) -> RootStore,
    check: () throws(TransportError) -> Void = TrustSelfCheck.require
  ) throws(TransportError) {
    options = request.connection?.tls ?? defaults
    guard !options.requiresStapledStatus else {
      throw .refused(
        .unsupported, "stapled OCSP responses are not checked for TLS over a stream",
        hint: "leave requiresStapledStatus out, or dial straight")
    }
    guard (1...65_535).contains(request.port) else { throw .portOutOfRange(request.port) }
    let target = TrustTarget(host: try Self.host(tls.serverName ?? request.host), port: request.port)
    let store = try roots(options.roots)
    try CipherNames.check(options)
    protocols = try ALPNOffer.wireForm(tls.applicationProtocols)
    // None goes to a proxy.
    identity = request.role == .server ? try ClientIdentities(options).identity(for: target.host) : nil
    let keyLog = try options.keyLogFile.map { path throws(TransportError) in try KeyLogFile(path: path) }
    let terms = TLSTerms(
      rules: JudgePanel(standing: defaults.trustJudge, additional: options.trustJudge),
      roots: TrustedRoots(options.roots, loaded: store), keyLog: keyLog, isStrict: options.chainChecks == .strict)
    let onlyJudge: (any ServerTrustJudge)? =
      if case .judged(let judge) = tls.certificates { judge } else { nil }
    if onlyJudge != nil || !terms.rules.isEmpty { try check() }
    gate = TLSGate(target, role: request.role, terms: terms, onlyJudge: onlyJudge, recordsChain: true)
  }

  /// Sets a context up, but for its judges.
  func makeContext() throws(TransportError) -> UnsafeMutableRawPointer {
    guard let context = clastro_nested_context_new(Int32(options.minimumVersion.rawValue)) else {
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
    if !protocols.isEmpty, !clastro_nested_context_set_protocols(context, protocols, protocols.count) {
      throw .refusedProtocols
    }
    guard let identity else { return }
    let chain = try Self.text(of: identity.certificate)
    let key = try identity.key.map { pem throws(TransportError) in try Self.text(of: pem) } ?? chain
    let isSet = chain.withUnsafeBytes { chain in
      key.withUnsafeBytes { key in
        guard let chainBase = chain.baseAddress, let keyBase = key.baseAddress else { return false }
        return clastro_nested_context_set_identity(
          context, chainBase.assumingMemoryBound(to: CChar.self), chain.count,
          keyBase.assumingMemoryBound(to: CChar.self), key.count, identity.keyPassword)
      }
    }
    guard isSet else {
      throw .unusableIdentity
    }
  }

  private static func host(_ text: String) throws(TransportError) -> HostName {
    do throws(ConfigurationError) {
      return try HostName(text)
    } catch {
      throw .refused(.invalidOption, "the host cannot be used for TLS: \(error.message)", hint: error.hint)
    }
  }

  private static func text(of pem: TLSOptions.PEM) throws(TransportError) -> [UInt8] {
    switch pem {
    case .bytes(let bytes): return bytes
    case .file(let path):
      do throws(TransportError) {
        return try RootFiles.texts(of: .file(path)).flatMap(\.self)
      } catch {
        throw .unreadableIdentity(path)
      }
    }
  }
}
