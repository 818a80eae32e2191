// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The judges of a partition, at one revision of their rules.
struct TrustRules {
  private let judges: [any ServerTrustJudge]
  private let revisions: [UInt64]

  /// - Parameters:
  ///   - standing: the engine's judge, which no request can be without.
  ///   - additional: a judge that a request's options add.
  init(standing: (any ServerTrustJudge)?, additional: (any ServerTrustJudge)?) {
    judges = [standing, standing === additional ? nil : additional].compactMap(\.self)
    revisions = judges.map(\.revision)
  }

  /// Whether there is nothing to judge beyond chain and host name.
  var isEmpty: Bool { judges.isEmpty }

  /// Whether the rules are still those that connections were judged by.
  var isCurrent: Bool {
    for (judge, revision) in zip(judges, revisions) where judge.revision != revision { return false }
    return true
  }

  /// The verdict of all judges: each can only narrow.
  func judge(_ trust: ServerTrust) -> TrustDecision { decide(.validated) { $0.judge(trust) } }

  /// As ``judge(_:)``, for plain `http`.
  func judgePlaintext(_ target: TrustTarget) -> TrustDecision {
    decide(.plain) { $0.judgePlaintext(host: target.host, port: target.port) }
  }

  private func decide(_ verdict: TrustVerdict, _ ask: (any ServerTrustJudge) -> TrustDecision) -> TrustDecision {
    var result = verdict
    for judge in judges {
      switch ask(judge) {
      case .refused(let failure): return .refused(failure)
      case .accepted(let word): if result == verdict { result = word }
      }
    }
    return .accepted(result)
  }
}

/// Who a TLS connection is made to.
struct TrustTarget: Hashable {
  var host: HostName
  var port: Int

  init?(authority: String, defaultPort: Int) {
    guard let authority = try? Authority(authority[...]) else { return nil }
    var name = authority.host[...]
    if name.hasPrefix("[") { name = name.dropFirst().dropLast() }
    guard let host = try? HostName(String(name)) else { return nil }
    self.host = host
    port = authority.port ?? defaultPort
  }

  /// The proxy that a URL names.
  init?(proxy url: String) {
    let afterScheme = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let authority = afterScheme.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    // libcurl's default for https proxies.
    self.init(authority: String(host), defaultPort: 443)
  }
}
