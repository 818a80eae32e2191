// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
import Lastro
import LastroWire

/// Makes the digests under which answers are kept. What goes in may be secret; what comes out is not.
struct CacheKeyring: Sendable {
  let key: [UInt8]

  /// Of what is not the same in two uses: a URL is never taken for a principal.
  private enum Use: String { case url, principal, credentials, selection }

  func digest(ofURL url: String) throws(ConfigurationError) -> [UInt8] { try digest(url, .url) }

  func digest(ofSelection text: String) throws(ConfigurationError) -> [UInt8] {
    text.isEmpty ? [] : try digest(text, .selection)
  }

  /// The partition of a request; empty for anyone.
  func partition(
    of request: TransferRequest, principal: String?, _ partitioning: HTTPCachePolicy.Partitioning
  ) throws(ConfigurationError) -> [UInt8] {
    guard partitioning == .byPrincipal else { return try way(of: request) }
    let way = request.connection.map(Self.way) ?? ""
    if let principal { return try digest("\(principal.utf8.count):\(principal)\(way)", .principal) }
    let credentials = Self.credentials(of: request) + way
    return credentials.isEmpty ? [] : try digest(credentials, .credentials)
  }

  /// The partition of what is for anyone who asks the same way; empty for those without options of their own.
  func way(of request: TransferRequest) throws(ConfigurationError) -> [UInt8] {
    let way = request.connection.map(Self.way) ?? ""
    return way.isEmpty ? [] : try digest(way, .credentials)
  }

  /// Whether a request has credentials.
  func isCredentialed(_ request: TransferRequest) -> Bool {
    let identities = request.connection.map { $0.tls.identity != nil || !$0.tls.hostIdentities.isEmpty } ?? false
    return identities || !Self.credentials(of: request).isEmpty
  }

  private func digest(_ text: String, _ use: Use) throws(ConfigurationError) -> [UInt8] {
    try MessageDigest.hmacSHA256(of: Array("\(use.rawValue)\n\(text)".utf8), key: key).bytes
  }

  /// The lines that tell who asks: those of known names, those that were called sensitive, and those with a secret.
  private static func credentials(of request: TransferRequest) -> String {
    let names = request.sensitiveHeaders.union([.authorization, .cookie])
    let secrets = request.secrets.map { $0.reveal() }.filter { !$0.isEmpty }
    return request.head.headerFields
      .filter { field in names.contains(field.name) || secrets.contains { field.value.contains($0) } }
      .map { "\($0.name.canonicalName):\($0.value)\n" }
      .sorted().joined()
  }

  /// What of a request's own connection options decides which server answers, and to whom.
  private static func way(_ options: ConnectionOptions) -> String {
    var parts: [String] = []
    if let path = options.unixSocketPath { parts.append("socket \(path)") }
    for resolution in options.resolutions {
      parts.append("resolution \(resolution.host):\(resolution.port) \(resolution.addresses.joined(separator: ","))")
    }
    if let identity = options.tls.identity { parts.append("identity \(text(identity.certificate))") }
    for (host, identity) in options.tls.hostIdentities.sorted(by: { $0.key < $1.key }) {
      parts.append("identity of \(host) \(text(identity.certificate))")
    }
    switch options.tls.roots {
    case .system: break
    case .file(let path): parts.append("roots \(path)")
    case .directory(let path): parts.append("roots in \(path)")
    case .pem(let bytes): parts.append("roots \(String(decoding: bytes, as: UTF8.self))")
    }
    return (parts + rules(options)).map { $0 + "\n" }.joined()
  }

  /// What of them decides which connections may be: an answer from the cache is by none, and asks no rule.
  private static func rules(_ options: ConnectionOptions) -> [String] {
    var parts: [String] = []
    switch options.proxy {
    case .environment: break
    case .environmentBypassing(let hosts): parts.append("proxy but for \(hosts)")
    case .none: parts.append("no proxy")
    case .url(let url, let bypass): parts.append("proxy \(url) but for \(bypass)")
    }
    if let interface = options.localInterface { parts.append("from \(interface)") }
    if let egress = options.reach.egress { parts.append("egress \(egress)") }
    let tls = options.tls
    if tls.minimumVersion != .v1_2 || tls.chainChecks != .standard || tls.requiresStapledStatus {
      parts.append("tls \(tls.minimumVersion) \(tls.chainChecks) \(tls.requiresStapledStatus)")
    }
    return parts
  }

  private static func text(_ pem: TLSOptions.PEM) -> String {
    switch pem {
    case .file(let path): "file \(path)"
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }
}
