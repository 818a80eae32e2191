// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// What a TLS connection over a stream shall obey: the request's options where it has some, else the dialer's; the judges
/// of both.
struct TLSPlan {
  let target: TrustTarget
  let role: ServerTrust.Role
  private let roots: RootStore
  private let rules: JudgePanel
  /// Decides alone, where chain and host name do not count.
  private let onlyJudge: (any ServerTrustJudge)?
  private let keyLog: KeyLogFile?
  private let options: TLSOptions
  private let protocols: [UInt8]
  private let identity: TLSOptions.Identity?

  /// - Parameter roots: gives the store for a source.
  init(
    _ request: DialRequest, _ tls: DialRequest.TLS, defaults: TLSOptions,
    roots: (TLSOptions.Roots) throws(TransportError) -> RootStore
  ) throws(TransportError) {
    options = request.connection?.tls ?? defaults
    guard !options.requiresStapledStatus else {
      throw .refused(
        .unsupported, "stapled OCSP responses are not checked for TLS over a stream",
        hint: "leave requiresStapledStatus out, or dial straight")
    }
    guard (1...65_535).contains(request.port) else {
      throw .refused(.invalidOption, "the port \(request.port) is none", hint: "give a port from 1 to 65535")
    }
    target = TrustTarget(host: try Self.host(tls.serverName ?? request.host), port: request.port)
    role = request.role
    self.roots = try roots(options.roots)
    rules = JudgePanel(standing: defaults.trustJudge, additional: options.trustJudge)
    onlyJudge = if case .judged(let judge) = tls.certificates { judge } else { nil }
    try CipherNames.check(options)
    protocols = try Self.wireForm(tls.applicationProtocols)
    // None goes to a proxy.
    identity = role == .server ? try ClientIdentities(options).identity(for: target.host) : nil
    keyLog = try options.keyLogFile.map { path throws(TransportError) in try KeyLogFile(path: path) }
  }

  /// Sets a context up, but for who judges.
  func makeContext() throws(TransportError) -> UnsafeMutableRawPointer {
    guard let context = clastro_nested_context_new(Int32(options.minimumVersion.rawValue)) else {
      throw .invalidTLSOptions("OpenSSL does not take the oldest TLS version asked for", hint: nil)
    }
    do throws(TransportError) {
      try apply(to: context)
      return context
    } catch {
      clastro_nested_context_free(context)
      throw error
    }
  }

  /// Who a context's connection is to be with; `nil` when OpenSSL does not take it.
  func attachPeer(to context: UnsafeMutableRawPointer) -> TLSPeer? {
    let peer = TLSPeer(target: target, role: role, rules: rules, keyLog: keyLog, onlyJudge: onlyJudge)
    let isAttached = peer.attach(to: context, roots: roots, recordsChain: true) { settings in
      settings.is_strict = options.chainChecks == .strict
    }
    return isAttached ? peer : nil
  }

  private func apply(to context: UnsafeMutableRawPointer) throws(TransportError) {
    let legacy = options.legacyCiphers?.joined(separator: ":")
    let suites = options.cipherSuites?.joined(separator: ":")
    guard clastro_nested_context_set_ciphers(context, legacy, suites) else {
      throw .invalidTLSOptions("OpenSSL does not take the list of ciphers", hint: nil)
    }
    if !protocols.isEmpty, !clastro_nested_context_set_protocols(context, protocols, protocols.count) {
      throw .refused(.invalidOption, "OpenSSL does not take the application protocols")
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
      throw .invalidTLSOptions(
        "the client certificate or its key cannot be used",
        hint: "both must be PEM, belong together, and an encrypted key needs its password")
    }
  }

  private static func host(_ text: String) throws(TransportError) -> HostName {
    do throws(ConfigurationError) {
      return try HostName(text)
    } catch {
      throw .refused(.invalidOption, "the host for TLS: \(error.message)", hint: error.hint)
    }
  }

  private static func wireForm(_ names: [String]) throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    for name in names {
      guard (1...255).contains(name.utf8.count), bytes.count + name.utf8.count + 1 <= 65_533 else {
        throw .refused(
          .invalidOption, "an application protocol has \(name.utf8.count) bytes",
          hint: "each has 1 to 255, all together less than 64 KiB (RFC 7301 §3.1)")
      }
      bytes += [UInt8(name.utf8.count)] + Array(name.utf8)
    }
    return bytes
  }

  private static func text(of pem: TLSOptions.PEM) throws(TransportError) -> [UInt8] {
    switch pem {
    case .bytes(let bytes): return bytes
    case .file(let path):
      do throws(TransportError) {
        return try RootFiles.texts(of: .file(path)).flatMap(\.self)
      } catch {
        throw .invalidTLSOptions(
          "the client certificate's file \(path) cannot be read", hint: "it must be a readable PEM file")
      }
    }
  }
}
